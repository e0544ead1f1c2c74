/**
 * Loads a module on first use: at the start if its option is set, and never without. Later calls get it synchronously,
 * because a repeated `import()` may wait for another thread in a process with module hooks. A failed load (too many
 * open files, for example) is forgotten, so that the next caller, possibly another start in the same process, loads
 * again.
 */
export function lazily<Part>(load: () => Promise<Part>): () => Promise<Part> {
  let part: Promise<Part> | null = null
  return async () =>
    await (part ??= load().catch((error: unknown) => {
      part = null
      throw error
    }))
}
