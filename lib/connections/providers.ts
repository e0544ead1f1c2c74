/** The providers with a name. */
export * from './apple.ts'
export * from './discord.ts'
export * from './facebook.ts'
export * from './github.ts'
export * from './google.ts'
export * from './microsoft.ts'
