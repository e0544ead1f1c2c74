/**
 * The data directory with which a server of a test begins. initdb takes longer than most tests on it, so it runs once
 * and is copied.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Account, run, versionOf } from './postgres-binaries.ts'

const CACHE = join(dirname(createRequire(import.meta.url).resolve('pg/package.json')), '../.cache/postgres')

export interface DataPlace {
  binaries: string
  account: Account
  /** A directory that belongs to the account and contains `data`. */
  directory: string
  superuser: string
}

/** Includes version, program and account, because data of another one can't be used. */
export async function makeData({ binaries, account, directory, superuser }: DataPlace): Promise<string> {
  const data = join(directory, 'data')
  const args = ['-U', superuser, '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
  const made = join(
    CACHE,
    createHash('sha256')
      .update(JSON.stringify([binaries, await versionOf(binaries), account, args]))
      .digest('hex')
  )
  if (existsSync(made)) {
    await run('cp', ['-a', made, data], { cwd: directory })
    return data
  }
  await run(join(binaries, 'initdb'), ['-D', data, ...args], { ...account, cwd: directory })
  // Renamed into place, so that no process copies half of it. Of two that make it at once one comes late.
  const draft = `${made}.${process.pid}`
  await mkdir(CACHE, { recursive: true })
  await run('cp', ['-a', data, draft], { cwd: directory })
  await rename(draft, made).catch(async () => {
    await rm(draft, { recursive: true })
  })
  return data
}
