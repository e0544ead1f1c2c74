/** Something in the environment that has to be mended before the server can start. The message says how. */
export class ConfigError extends Error {}
