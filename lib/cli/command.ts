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

/** The flags of single commands, each with the word for its value in the usage. `null`: the flag has none. */
export const FLAGS = {
  email: 'ADDRESS',
  invite: null,
  reason: 'TEXT',
  'dry-run': null,
  online: null,
  checkpoints: 'FILE',
  action: 'NAME',
  user: 'ID'
} as const

export type Flag = keyof typeof FLAGS

export type Given = { words: string[] } & {
  [Name in Flag]?: (typeof FLAGS)[Name] extends null ? boolean : string
}

/** A result, and for people a sentence with `rows` after it. `--json` prints the result alone. */
export class Said {
  readonly result: unknown
  readonly sentence: string
  readonly rows: unknown

  constructor(result: unknown, sentence: string, rows?: unknown) {
    this.result = result
    this.sentence = sentence
    this.rows = rows
  }
}

export const NO_BCRYPT =
  'There are hashes of bcrypt, and the package that verifies them is missing, so their users get the answer 503. ' +
  'Run npm install @node-rs/bcrypt.'

/** A number with its noun. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

export interface Command {
  /** The words that name it, such as `user show`. */
  name: string
  /** The words that follow the name, as the usage shows them. */
  takes: readonly string[]
  does: string
  /** Flags besides those of every command. */
  flags?: readonly Flag[]
}

/** A command that needs no configuration. */
export interface PlainCommand extends Command {
  print(): string
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
