import type { Feature } from '../../feature.ts'
import { invalid } from '../../settings/option-error.ts'
import { API_KEY_OPTIONS, type ApiKeySettings, apiKeySettings, neverOfKeys } from './options.ts'

/** API keys with which users' own programs act for them. */
export const apiKeys: Feature<ApiKeySettings> = {
  name: 'apiKeys',
  options: API_KEY_OPTIONS,
  resolve({ apiKeys: given, rateLimit }) {
    if (given === undefined) {
      const limited = rateLimit === false ? undefined : rateLimit?.apiKey
      if (limited !== undefined && limited.verify === undefined)
        throw invalid('rateLimit.apiKey.verify', undefined, 'a function, or nothing where the option apiKeys is set')
      return null
    }
    const settings = apiKeySettings('store' in given ? given : { store: given })
    const never = settings.scopes?.find(neverOfKeys)
    if (never !== undefined)
      throw invalid('apiKeys.scopes', never, 'scopes of APIs: no key is for an endpoint of this service')
    return settings
  },
  load: async () => await import('./create.ts')
}
