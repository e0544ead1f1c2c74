import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import type { ManagedUsers } from '../accounts/managed-users.ts'
import type { Authority } from '../composition/authority.ts'
import type { Services } from '../composition/services.ts'
import type { Actor } from '../events.ts'
import type { AuthorityOptions } from '../settings/options.ts'

/** The default export of the host's configuration file, or the result of the function that the file exports. */
export interface Config {
  options: AuthorityOptions
  fastify?: FastifyServerOptions
  close?: () => unknown
}

/**
 * Makes the app of a command, with the host's options for Fastify and a logger of the command. Gives a slow machine a
 * minute to start, instead of Fastify's ten seconds.
 */
export const appOf = ({ fastify: server }: Config, logger: object): FastifyInstance =>
  fastify({ pluginTimeout: 60_000, ...server, loggerInstance: undefined, logger } as object)

/** The objects that a command works with: the running service, and the terminal. */
export interface Desk {
  authority: Authority
  services: Services
  users: ManagedUsers
  /** The options as the host's configuration file gives them. */
  options: AuthorityOptions
  by: Actor
  /** Asks the person to type the word, unless `--yes` was given. @throws CliError for a different answer */
  confirm(word: string): Promise<void>
  /** Writes to the standard output. Resolves when the output can take more text. */
  write(text: string): Promise<void>
}

/** Flags that only some commands take, with the name of the value for the usage. `null`: the flag has no value. */
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

/** A result in two forms. People read `sentence`, then `rows`. `--json` prints only `result`. */
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

export interface Command {
  /** The words that name the command, such as `user show`. */
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

/** A command that works on the host's options, without starting the service on the host's stores. */
export interface ConfigCommand extends Command {
  check(config: Config, given: Given): Promise<unknown>
}

/** A command that starts the service on the host's stores. `check` is its `--dry-run`, which starts no service. */
export interface StoreCommand extends Command, Partial<Pick<ConfigCommand, 'check'>> {
  /** Returns the result to print. `undefined`: the command has written its output with `desk.write`. */
  run(desk: Desk, given: Given): Promise<unknown>
}

/** Writes JSON with all characters but printable ASCII escaped, so that no value can manipulate the terminal. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Ends a command. `code` is the exit code: 1 for a refusal or a found fault, 2 for wrong usage, 3 for an outage. */
export class CliError extends Error {
  readonly code: 1 | 2 | 3
  /** A result to print on the standard output despite the failure. */
  readonly report: object | undefined

  constructor(code: 1 | 2 | 3, message: string, report?: object) {
    super(message)
    this.code = code
    this.report = report
  }
}
