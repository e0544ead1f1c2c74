import { RENDERERS as API_KEYS } from '../../lib/features/api-keys/pages/renderers.ts'
import { RENDERERS as CONNECTIONS } from '../../lib/features/connections/pages/renderers.ts'
import { RENDERERS as DEVICE } from '../../lib/features/device-grant/pages/renderers.ts'
import { RENDERERS as EMAIL_CODES } from '../../lib/features/email-codes/pages/renderers.ts'
import { RENDERERS as INVITATIONS } from '../../lib/features/invitations/pages/renderers.ts'
import type { PageModels, PageName } from '../../lib/pages/model.ts'
import { RENDERERS, type Renderers } from '../../lib/pages/render.ts'

export const OF_FEATURES = { ...API_KEYS, ...CONNECTIONS, ...DEVICE, ...EMAIL_CODES, ...INVITATIONS }
const ALL: Renderers = { ...RENDERERS, ...OF_FEATURES }

/** The built-in HTML of any page, of the kernel or of a feature. */
export function renderPage<Name extends PageName>(page: Name, model: PageModels[Name]): string {
  return ALL[page](model)
}
