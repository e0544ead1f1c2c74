import type { FastifyServerOptions } from 'fastify'
import type { ManagedUsers } from '../accounts/managed-users.ts'
import type { Authority } from '../composition/authority.ts'
import type { Services } from '../composition/services.ts'
import type { Actor } from '../events.ts'
import type { AuthorityOptions } from '../settings/options.ts'

/** The default export of the host's file. */
export interface Config {
  options: AuthorityOptions
  fastify?: FastifyServerOptions
  close?: () => unknown
}

/** The authority of the host's options, and the person at the terminal. */
export interface Desk {
  authority: Authority
  services: Services
  users: ManagedUsers
  /** The host's own. */
  options: AuthorityOptions
  by: Actor
  /** Asks for the word, unless `--yes` was given. @throws CliError if the answer is another */
  confirm(word: string): Promise<void>
  /** Writes to the standard output, and resolves when there may be more. */
  write(text: string): Promise<void>
}

export interface Given {
  words: string[]
  email: string | undefined
  invite: boolean
  dryRun: boolean
  online: boolean
}

export interface Command {
  /** The words that name it, such as `user show`. */
  name: string
  /** The words that follow the name, as the usage shows them. */
  takes: readonly string[]
  does: string
  /** Flags besides those of every command. */
  flags?: readonly ('email' | 'invite' | 'dry-run' | 'online')[]
}

/** A command that reads the host's options and starts nothing. */
export interface ConfigCommand extends Command {
  check(config: Config, given: Given): Promise<unknown>
}

/** A command that opens the host's stores. `check`: its dry run, which starts nothing. */
export interface StoreCommand extends Command, Partial<Pick<ConfigCommand, 'check'>> {
  /** `undefined`: it has written its answer. */
  run(desk: Desk, given: Given): Promise<unknown>
}

/** JSON that moves no cursor and turns no text around on a terminal: all but plain characters are escaped. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Exit codes: 1 refused or found wrong, 2 bad use, 3 outage. */
export class CliError extends Error {
  readonly code: 1 | 2 | 3
  /** For the standard output, if the command has one in spite of the failure. */
  readonly report: object | undefined

  constructor(code: 1 | 2 | 3, message: string, report?: object) {
    super(message)
    this.code = code
    this.report = report
  }
}
