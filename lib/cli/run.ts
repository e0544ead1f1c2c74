import { once } from 'node:events'
import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { settingsOf } from '../composition/compose.ts'
import { SERVICES } from '../composition/services.ts'
import authPlugin, { type AuthorityOptions, OAuthError } from '../index.ts'
import { isOutage } from '../ports/outage.ts'
import { UNSEEN } from '../protocol/bounds.ts'
import { CHECKPOINT } from './audit.ts'
import {
  appOf,
  CliError,
  type Config,
  type Desk,
  FLAGS,
  type Flag,
  type Given,
  jsonText,
  Said,
  type StoreCommand
} from './command.ts'
import { type AnyCommand, COMMANDS, lineOfCommand } from './commands.ts'
import { auditOnlyOfActs, refuseMemory } from './stores.ts'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const FILES = ['fastify-authority.config.js', 'fastify-authority.config.mjs']

/** Loads the host's configuration file. @throws CliError 2 for a missing file or a wrong default export */
async function configOf(path: string | undefined): Promise<Config> {
  const file = [path ?? FILES]
    .flat()
    .map((name) => resolve(name))
    .find((name) => existsSync(name))
  if (file === undefined) throw new CliError(2, `There is no ${path ?? FILES.join(' or ')} here. Use --config.`)
  const loading = import(pathToFileURL(file).href) as Promise<{ default?: Config | (() => Config | Promise<Config>) }>
  const { default: given } = await loading
  const config = typeof given === 'function' ? await given() : given
  if (typeof config?.options !== 'object')
    throw new CliError(2, `${file}: the default export must be { options, fastify, close } or a function of it.`)
  return config
}

interface Answer {
  code: 0 | 1 | 2 | 3
  text: string
  problem: string
}

/**
 * Runs a command line. Returns the exit code, the text for the standard output and `problem` for the error output.
 * `write` takes output that a command writes in parts, and resolves when the output can take more. `tell` takes lines
 * of the service's log.
 */
export async function run(argv: readonly string[], write = toOutput, tell = toErrors): Promise<Answer> {
  let print: (result: unknown) => string = plain
  try {
    const given = parsed(argv)
    if (given === null) return { code: 0, text: usage(), problem: '' }
    if (given.values.json === true) print = jsonOf
    const result = await answerOf(given, { write, tell })
    return { code: 0, text: result === undefined ? '' : print(result), problem: '' }
  } catch (error) {
    const text = error instanceof CliError && error.report !== undefined ? print(error.report) : ''
    return { code: codeOf(error), text, problem: linesOf(error instanceof Error ? error.message : String(error)) }
  }
}

async function toOutput(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

const toErrors = (line: string): void => {
  process.stderr.write(line)
}

const usage = (): string =>
  [
    'npx fastify-authority <command> [--config FILE] [--json] [--yes]',
    '',
    ...COMMANDS.map((command) => `  ${lineOfCommand(command)}\n      ${command.does}`)
  ].join('\n')

interface Values {
  config?: string
  json?: boolean
  yes?: boolean
  help?: boolean
}

interface Line {
  command: AnyCommand
  given: Given
  values: Values
}

const OPTIONS = {
  config: { type: 'string' },
  json: { type: 'boolean' },
  yes: { type: 'boolean' },
  help: { type: 'boolean' }
} as const
const FLAG_OPTIONS = Object.fromEntries(
  Object.entries(FLAGS).map(([name, value]) => [name, { type: value === null ? 'boolean' : 'string' } as const])
)

function parsed(argv: readonly string[]): Line | null {
  let line: { values: Values & Omit<Given, 'words'>; positionals: string[] }
  try {
    line = parseArgs({ args: [...argv], allowPositionals: true, options: { ...FLAG_OPTIONS, ...OPTIONS } })
  } catch (error) {
    throw new CliError(2, (error as Error).message)
  }
  const { values, positionals } = line
  if (values.help === true) return null
  const command = COMMANDS.find(({ name }) => name === positionals.slice(0, name.split(' ').length).join(' '))
  if (command === undefined) {
    const typed = positionals.join(' ')
    throw new CliError(2, typed === '' ? usage() : `There is no command ${typed}.\n\n${usage()}`)
  }
  const words = positionals.slice(command.name.split(' ').length)
  const strange = (Object.keys(FLAGS) as Flag[]).find(
    (flag) => flag in values && command.flags?.includes(flag) !== true
  )
  if (words.length !== command.takes.length || strange !== undefined)
    throw new CliError(2, `Usage: npx fastify-authority ${lineOfCommand(command)}`)
  return { command, given: { ...values, words }, values }
}

const isStoreCommand = (command: AnyCommand): command is StoreCommand => 'run' in command

/** `tell` takes a line of the service's log. */
interface Outputs extends Pick<Desk, 'write'> {
  tell(line: string): void
}

async function answerOf({ command, given, values }: Line, outputs: Outputs): Promise<unknown> {
  if ('print' in command) return command.print()
  const config = await configOf(values.config)
  try {
    if (isStoreCommand(command) && (command.check === undefined || given['dry-run'] !== true))
      return await overStores(command, config, given, values.yes === true, outputs)
    return await command.check?.(config, given)
  } finally {
    await config.close?.()
  }
}

async function overStores(
  command: StoreCommand,
  config: Config,
  given: Given,
  yes: boolean,
  { write, tell }: Outputs
): Promise<unknown> {
  const { options } = config
  settingsOf(options)
  refuseMemory(options)
  const logger = { level: 'info', stream: { write: evidenceFor(tell) } }
  const app = appOf(config, logger)
  const unsent = new Set<string>()
  let result: unknown
  try {
    const audit = auditOnlyOfActs(options)
    const sendMessage = noting(options.sendMessage, unsent)
    await app.register(authPlugin, { ...options, audit, sendMessage, decorators: undefined })
    // Does not call ready(), which begins background work, such as the creation of the first key.
    const { authority } = app
    const services = SERVICES.get(authority)
    if (services === undefined) throw new TypeError('The plugin did not start.')
    result = await command.run(
      {
        authority,
        services,
        users: authority.users,
        options,
        write,
        by: { type: 'cli', id: `${userName()}@${hostname()}` },
        confirm: async (word) => {
          if (!yes) await confirmed(word)
        }
      },
      given
    )
  } finally {
    await app.close()
  }
  if (unsent.size === 0) return result
  const problem = `sendMessage failed, so nobody got the message ${[...unsent].join(', ')}. All else was done.`
  throw new CliError(3, `${problem} Mend sendMessage, then send the link by user invite.`, result as object)
}

/** Wraps the host's `sendMessage`. `unsent` then contains the kinds of messages that it failed to send. */
function noting(send: AuthorityOptions['sendMessage'], unsent: Set<string>): AuthorityOptions['sendMessage'] {
  if (send === undefined) return undefined
  return async (message) => {
    unsent.add(message.kind)
    await send(message)
    unsent.delete(message.kind)
  }
}

const ERROR = 50

/**
 * Passes on the errors and the checkpoints of the audit log from the service's log. Skips a checkpoint of entry 1:
 * `auditOnlyOfActs` does not write this entry if the command only reads.
 */
const evidenceFor =
  (tell: Outputs['tell']) =>
  (text: string): void => {
    const line = JSON.parse(text) as { level: number; code?: string; checkpoint?: { seq: number } }
    const isCheckpoint = line.code === CHECKPOINT && (line.checkpoint?.seq ?? 0) > 1
    if (line.level >= ERROR || isCheckpoint) tell(`${jsonText(line)}\n`)
  }

/** Returns the name of the system's user, or the uid: a container may run as a user that its system does not know. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

async function confirmed(word: string): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const closed = new Promise<string>((done) =>
      terminal.once('close', () => {
        done('')
      })
    )
    const answer = await Promise.race([terminal.question(`Type ${visible(word)} to go on: `), closed])
    if (answer !== word) throw new CliError(1, 'Nothing was changed.')
  } finally {
    terminal.close()
  }
}

const linesOf = (text: string): string => text.split('\n').map(visible).join('\n')

function codeOf(error: unknown): 1 | 2 | 3 {
  if (error instanceof CliError) return error.code
  if (error instanceof OAuthError) return error.statusCode === 503 ? 3 : 1
  return isOutage(error) ? 3 : 1
}

const jsonOf = (result: unknown): string => jsonText(result instanceof Said ? result.result : result)

function plain(result: unknown): string {
  if (result instanceof Said)
    return result.rows === undefined ? result.sentence : `${result.sentence}\n\n${plain(result.rows)}`
  if (result === null) return 'Done.'
  if (typeof result === 'string') return result
  if (Array.isArray(result) && result.length === 0) return 'Found none.'
  return (Array.isArray(result) ? result : [result])
    .map((row: object) =>
      Object.entries(row)
        .map(([name, value]) => `${name}: ${valueText(value)}`)
        .join('\n')
    )
    .join('\n\n')
}

/**
 * Escapes control and format characters as `\u{…}`, because the values of users could otherwise move the cursor or hide
 * text on the terminal.
 */
function visible(text: string): string {
  const shown = (character: string): string =>
    UNSEEN.test(character) ? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}` : character
  return [...text].map(shown).join('')
}

const valueText = (value: unknown): string =>
  Array.isArray(value) && value.length > 0
    ? value.map((one) => `\n  ${visible(lineOf(one))}`).join('')
    : visible(lineOf(value))

/** Writes a value in one line: the texts of an object side by side, other objects as JSON. */
function lineOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.length === 0) return 'none'
  const values: unknown[] = typeof value === 'object' && value !== null ? Object.values(value) : [value]
  const isRow = values.length > 0 && values.every((one) => typeof one === 'string' || one === null)
  return isRow ? values.filter((one) => one !== null).join('  ') : JSON.stringify(value)
}
