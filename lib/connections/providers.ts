/** The providers that have a function of their own, such as `google`. */
export * from './apple.ts'
export * from './discord.ts'
export * from './facebook.ts'
export * from './github.ts'
export * from './google.ts'
export * from './microsoft.ts'
