import type { Feature } from '../../feature.ts'
import { invalid } from '../../settings/option-error.ts'
import {
  documentSettings,
  registrationSettings,
  UNKNOWN_CLIENT_OPTIONS,
  type UnknownClientSettings
} from './options.ts'

const HOST = /^(?:\*\.)?(?:[a-z0-9-]+\.)*[a-z0-9-]+$/
const SCHEME = /^[a-z][a-z0-9+-]*$/
/** Schemes that are not private-use schemes. Most of them could run code, read files or send data on the device. */
const DANGEROUS = ['http', 'https', 'javascript', 'data', 'vbscript', 'file', 'blob', 'mailto', 'about', 'intent']

/** Clients that the host did not configure: their id is the URL of a document, or they have registered themselves. */
export const unknownClients: Feature<UnknownClientSettings> = {
  name: 'unknownClients',
  options: UNKNOWN_CLIENT_OPTIONS,
  resolve({ clientIdMetadata, clientRegistration, issuer, clients, pages, secret }) {
    if (!clientIdMetadata && !clientRegistration) return null
    const documents = clientIdMetadata ? documentSettings(clientIdMetadata === true ? {} : clientIdMetadata) : null
    const registration = clientRegistration
      ? registrationSettings(clientRegistration === true ? {} : clientRegistration)
      : null
    for (const name of ['allow', 'trusted'] as const)
      for (const host of documents?.[name] ?? [])
        if (typeof host === 'string' && !HOST.test(host))
          throw invalid(`clientIdMetadata.${name}`, host, 'a host in lower case, such as "example.com"')
    for (const scheme of registration?.redirectSchemes ?? [])
      if (!SCHEME.test(scheme) || DANGEROUS.includes(scheme))
        throw invalid('clientRegistration.redirectSchemes', scheme, 'the scheme of an app, such as "cursor"')
    if (registration !== null && secret === undefined)
      throw invalid('clientRegistration', clientRegistration, 'false without the option secret, which signs the ids')
    const title = pages === false ? undefined : pages?.title
    const registered = Array.isArray(clients) ? clients.map(({ name, clientId }) => name ?? clientId) : []
    return {
      documents,
      registration,
      takenNames: [new URL(issuer).host, ...(title === undefined ? [] : [title]), ...registered]
    }
  },
  shares: () => ({ unknownClients: true }),
  off: { blockClient: refuse, unblockClient: refuse },
  load: async () => await import('./create.ts')
}

async function refuse(): Promise<never> {
  throw new TypeError('app.authority: no unknown clients without clientIdMetadata or clientRegistration.')
}
