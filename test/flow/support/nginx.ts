/** The machine's nginx in front of servers of the test, with a configuration from the repository. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'

const WITHIN_MS = 30_000

export interface Nginx {
  accessLog(): string
  errorLog(): string
  /** `nginx -s reload` */
  reload(): void
}

export interface NginxFiles {
  /** The files of `conf.d` by name, with this machine's ports and addresses. */
  confd: () => Record<string, string>
  directory: string
  /** The place of the access log in the configuration. */
  log: string
  port: number
}

/** Ends with the test. */
export async function startNginx(t: Test, { confd, directory, log, port }: NginxFiles): Promise<Nginx> {
  const binary = process.env['NGINX_BIN'] ?? (existsSync('/usr/sbin/nginx') ? '/usr/sbin/nginx' : 'nginx')
  const write = (): void => {
    for (const [name, text] of Object.entries(confd())) writeFileSync(join(directory, name), text)
  }
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(directory, `temp-${name}`)};`)
    .join('\n')
  const main = join(directory, 'nginx.main')
  writeFileSync(
    main,
    `${process.getuid?.() === 0 ? 'user root;\n' : ''}daemon off;\nworker_processes 1;\npid ` +
      `${join(directory, 'nginx.pid')};\nerror_log ${join(directory, 'error.log')};\nevents ` +
      `{}\nhttp {\n${temporary}\ninclude ${directory}/*.conf;\n}\n`
  )
  write()
  const args = ['-p', directory, '-c', main, '-e', join(directory, 'error.log')]
  const child = spawn(binary, args, { stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const read = (file: string) => (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  const errorLog = read(join(directory, 'error.log'))
  for (const deadline = performance.now() + WITHIN_MS; !(await answers(port)); await delay(20)) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`nginx did not start: ${errorLog()}`)
  }
  return {
    accessLog: read(join(log, 'access.log')),
    errorLog,
    reload() {
      write()
      execFileSync(binary, [...args, '-s', 'reload'], { stdio: ['ignore', 'ignore', 'pipe'] })
    }
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
