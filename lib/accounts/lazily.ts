/**
 * Loads a part of the code when it is first asked for, which is at the start where its option is set, and never where
 * it is not. From then on it is there at once: `import()` of what is loaded may wait for another thread, where the
 * process has module hooks. A load that failed (too many open files, say) is forgotten, so that whoever asks next,
 * which may be another start in the same process, loads again.
 */
export function lazily<Part>(load: () => Promise<Part>): () => Promise<Part> {
  let part: Promise<Part> | null = null
  return async () =>
    await (part ??= load().catch((error: unknown) => {
      part = null
      throw error
    }))
}
