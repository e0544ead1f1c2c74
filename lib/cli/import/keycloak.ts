import { BadRow, type Columns, isObject, object, text } from './columns.ts'

const PBKDF2 = ['pbkdf2', 'pbkdf2-sha256', 'pbkdf2-sha512']
const unpadded = (base64: string | undefined): string => (base64 ?? '').replace(/={0,2}$/, '')

/** A parameter of a hash, which is a list of one text. */
function parameter(parameters: Columns, name: string, usual: string): string {
  const value = [parameters[name]].flat()[0] ?? usual
  if (typeof value !== 'string') throw new BadRow('credentialData is of an unknown form')
  return value
}

/** The newest password of a user as a PHC string. Both halves of a credential are JSON in a string. */
export function keycloakHash(credentials: readonly Columns[]): string | undefined | { unusable: string } {
  const password = credentials.find(({ type }) => type === 'password')
  if (password === undefined) return undefined
  const [secret, settings] = [object(password, 'secretData'), object(password, 'credentialData')]
  if (secret === undefined || settings === undefined) return { unusable: 'hash of an old form of Keycloak' }
  const algorithm = text(settings, 'algorithm') ?? ''
  const iterations = text(settings, 'hashIterations') ?? ''
  const end = `$${unpadded(text(secret, 'salt'))}$${unpadded(text(secret, 'value'))}`
  if (PBKDF2.includes(algorithm)) return `$${algorithm}$i=${iterations}${end}`
  if (algorithm !== 'argon2') return { unusable: 'hash of an algorithm that Keycloak has by a plugin' }
  const given = settings['additionalParameters']
  const parameters = isObject(given) ? given : {}
  const version = parameter(parameters, 'version', '1.3') === '1.3' ? 19 : 16
  const [memory, lanes] = [parameter(parameters, 'memory', '7168'), parameter(parameters, 'parallelism', '1')]
  const cost = `m=${memory},t=${iterations},p=${lanes}`
  return `$argon2${parameter(parameters, 'type', 'id')}$v=${version}$${cost}${end}`
}
