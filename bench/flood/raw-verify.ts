import type { Library } from './scene.ts'

/**
 * The library's own call, on the threads of libuv's pool, as many as there are: what a host writes that thinks of no
 * flood.
 */
export async function rawVerify(library: Library): Promise<(encoded: string, password: string) => Promise<boolean>> {
  if (library === 'argon2') {
    const { verify } = await import('argon2')
    return verify
  }
  const { verify } = await import('@node-rs/argon2')
  return async (encoded, password) => await verify(encoded, password)
}
