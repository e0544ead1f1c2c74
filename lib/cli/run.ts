import { createRequire } from 'node:module'
import { hostname, userInfo } from 'node:os'
import { resolve } from 'node:path'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import fastify, { type FastifyServerOptions } from 'fastify'
import { systemRandom } from '../adapters/node/system.ts'
import { isMemoryUserStore } from '../composition/seeded-users.ts'
import authPlugin, { type AuthorityOptions, OAuthError } from '../index.ts'
import { isOutage } from '../ports/outage.ts'
import { CliError, type Command, type StoreCommand } from './command.ts'
import { AUDIT_VERIFY } from './audit.ts'
import { IMPORT } from './import/command.ts'
import { USER_COMMANDS } from './user.ts'

interface Config {
  options: AuthorityOptions
  fastify?: FastifyServerOptions
  close?: () => unknown
}

interface Answer {
  code: 0 | 1 | 2 | 3
  text: string
  problem: string
}

const SECRET: Command = { name: 'secret', takes: [], does: 'Prints 32 random bytes for the option `secret`.' }
const COMMANDS: readonly (Command | StoreCommand)[] = [SECRET, ...USER_COMMANDS, IMPORT, AUDIT_VERIFY]
const FILES = ['fastify-authority.config.js', 'fastify-authority.config.mjs']

/** Runs a command line and gives the exit code, the text for the standard output, and that for the error output. */
export async function run(argv: readonly string[]): Promise<Answer> {
  let print = plain
  try {
    const given = parsed(argv)
    if (given === null) return { code: 0, text: usage(), problem: '' }
    const { command, words, values } = given
    if (values.json === true) print = JSON.stringify
    const result = 'run' in command ? await overStores(command, words, values) : systemRandom().secret()
    return { code: 0, text: print(result), problem: '' }
  } catch (error) {
    const text = error instanceof CliError && error.report !== undefined ? print(error.report) : ''
    return { code: codeOf(error), text, problem: linesOf(error instanceof Error ? error.message : String(error)) }
  }
}

const usage = (): string =>
  [
    'npx fastify-authority <command> [--config FILE] [--json] [--yes]',
    '',
    ...COMMANDS.map(
      ({ name, takes, flags = [], does }) =>
        `  ${[name, ...takes, ...flags.map((flag) => `[--${flag}]`)].join(' ').padEnd(44)}${does}`
    )
  ].join('\n')

type Values = Partial<
  Record<'json' | 'yes' | 'help' | 'invite' | 'dry-run', boolean> & Record<'config' | 'email', string>
>

function parsed(argv: readonly string[]): { command: Command | StoreCommand; words: string[]; values: Values } | null {
  let line: { values: Values; positionals: string[] }
  try {
    line = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        config: { type: 'string' },
        email: { type: 'string' },
        invite: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
        json: { type: 'boolean' },
        yes: { type: 'boolean' },
        help: { type: 'boolean' }
      }
    })
  } catch (error) {
    throw new CliError(2, (error as Error).message)
  }
  const { values, positionals } = line
  if (values.help === true) return null
  const command = COMMANDS.find(({ name }) => name === positionals.slice(0, name.split(' ').length).join(' '))
  if (command === undefined) throw new CliError(2, usage())
  const words = positionals.slice(command.name.split(' ').length)
  const strange = (['email', 'invite', 'dry-run'] as const).find(
    (flag) => flag in values && command.flags?.includes(flag) !== true
  )
  if (words.length !== command.takes.length || strange !== undefined)
    throw new CliError(2, `Usage: npx fastify-authority ${[command.name, ...command.takes].join(' ')}`)
  return { command, words, values }
}

async function overStores(command: StoreCommand, words: string[], values: Values): Promise<unknown> {
  const { options, fastify: server, close } = await configOf(values.config)
  try {
    if (options.redis === undefined && options.state?.shared !== true)
      throw new CliError(1, 'The state is in memory, so another process has it. Set state or redis.')
    if (options.users === undefined || isMemoryUserStore(options.users))
      throw new CliError(1, 'The users are in memory, so another process has them. Set users to a store.')
    const app = fastify({ ...server, logger: false })
    try {
      await app.register(authPlugin, options)
      await app.ready()
      const { authority } = app
      return await command.run(
        {
          authority,
          users: authority.users,
          options,
          by: { type: 'cli', id: `${userInfo().username}@${hostname()}` },
          confirm: async (word) => {
            if (values.yes !== true) await confirmed(word)
          }
        },
        { words, email: values.email, invite: values.invite === true, dryRun: values['dry-run'] === true }
      )
    } finally {
      await app.close()
    }
  } finally {
    await close?.()
  }
}

async function configOf(path: string | undefined): Promise<Config> {
  const file = [path ?? FILES]
    .flat()
    .map((name) => resolve(name))
    .find((name) => existsSync(name))
  if (file === undefined) throw new CliError(2, `There is no ${path ?? FILES.join(' or ')} here. Use --config.`)
  const { default: given } = createRequire(import.meta.url)(file) as { default?: Config | (() => Promise<Config>) }
  const config = typeof given === 'function' ? await given() : given
  if (typeof config?.options !== 'object')
    throw new CliError(2, `${file}: the default export must be { options, fastify, close } or a function of it.`)
  return config
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

function plain(result: unknown): string {
  if (result === null) return ''
  if (typeof result === 'string') return result
  return (Array.isArray(result) ? result : [result])
    .map((row: object) =>
      Object.entries(row)
        .map(([name, value]) => `${name}: ${valueText(value)}`)
        .join('\n')
    )
    .join('\n\n')
}

/**
 * Text of users could move the cursor or hide other text on a terminal, so characters without a form of their own are
 * written by their numbers.
 */
function visible(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
  )
}

function valueText(value: unknown): string {
  if (isTexts(value)) return value.map((text) => `\n  ${visible(text)}`).join('')
  return visible(typeof value === 'string' ? value : JSON.stringify(value))
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')
