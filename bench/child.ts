import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A process that answers each message with one. */
export interface Child {
  ask<T>(question: unknown): Promise<T>
  end(): void
}

/**
 * Runs a file below this folder, with `env` added to this process's own environment. Resolves with the first message,
 * which is `begun`.
 */
export async function start(
  file: string,
  args: string[] = [],
  env: Record<string, string> = {}
): Promise<Child & { begun: unknown }> {
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  const child = fork(fileURLToPath(new URL(`./${file}${extension}`, import.meta.url)), args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...env }
  })
  return {
    begun: await answer<unknown>(child),
    async ask(question) {
      const answered = answer<never>(child)
      child.send(question as never)
      return await answered
    },
    end() {
      child.kill()
    }
  }
}

async function answer<T>(child: ChildProcess): Promise<T> {
  return await new Promise((resolve, reject) => {
    const stopped = (code: number | null): void => {
      reject(new Error(`a process of the benchmark stopped with code ${code}`))
    }
    child.once('exit', stopped).once('message', (message) => {
      child.off('exit', stopped)
      resolve(message as T)
    })
  })
}

/** In the child. A failure ends it. */
export function answerEach(begun: unknown, answerTo: (question: never) => unknown): void {
  process.on('disconnect', () => {
    process.exit()
  })
  process.on('message', (question) => {
    Promise.resolve(question as never)
      .then(answerTo)
      .then((reply) => {
        process.send?.(reply)
      })
      .catch((error: unknown) => {
        console.error(error)
        process.exit(1)
      })
  })
  process.send?.(begun)
}
