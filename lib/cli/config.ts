import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CliError, type Config } from './command.ts'

const FILES = ['fastify-authority.config.js', 'fastify-authority.config.mjs']

/** @throws CliError 2 */
export async function configOf(path: string | undefined): Promise<Config> {
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
