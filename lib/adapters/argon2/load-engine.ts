/**
 * Loads an argon2 package at its first use, so that a host with another hasher never loads its binary.
 *
 * @throws Error that names the package, where it is missing or has no binary for this platform
 */
export async function loadEngine<Engine>(packageName: string, load: () => Promise<Engine>): Promise<Engine> {
  try {
    return await load()
  } catch (cause) {
    throw new Error(
      `The password hasher needs the package ${packageName}, and it could not be loaded. Install ` +
        `it: npm install ${packageName}`,
      { cause }
    )
  }
}
