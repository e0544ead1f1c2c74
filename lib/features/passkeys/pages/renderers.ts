import { accountFrame, signInAgain } from '../../../pages/account-pages.ts'
import { action as actionLink, factorNameField, formState, serverFault } from '../../../pages/fields.ts'
import { layout } from '../../../pages/layout.ts'
import type { PageModels } from '../../../pages/model.ts'
import type { Renderers } from '../../../pages/render.ts'
import { confirmFirst, creation, points } from '../../second-factors/pages/renderers.ts'
import type { PasskeyModels } from '../options.ts'

function accountPasskey(model: PageModels['account_passkey']): string {
  const { messages, action, error, passkey, name: typed, signInUrl, confirmUrl } = model
  if (confirmUrl !== null) return accountFrame(model, messages.passkeyAdd, confirmFirst(model, confirmUrl))
  if (passkey === null)
    return accountFrame(model, messages.passkeyAdd, signInUrl === null ? null : signInAgain(model, signInUrl))
  const state = formState(error, ['name'], '')
  return accountFrame(
    model,
    messages.passkeyAdd,
    [
      points(messages),
      ...creation(model, action, passkey, { name: factorNameField(state, messages.passkeyNameLabel, typed), state })
    ],
    { passkeyScript: passkey.scriptUrl }
  )
}

/** A page with nothing to type: one button makes the passkey, and one link continues without it. */
function passkeyPrompt(model: PageModels['passkey_prompt']): string {
  const { messages, action, error, passkey, skipUrl } = model
  return layout(model, {
    heading: messages.passkeyPromptTitle,
    error,
    icon: 'key',
    passkeyScript: passkey.scriptUrl,
    content: [
      points(messages),
      ...creation(model, action, passkey, { state: formState(error, [], '') }),
      actionLink(skipUrl, messages.passkeySkip, 'plain'),
      serverFault(model)
    ]
  })
}

export const RENDERERS: Pick<Renderers, keyof PasskeyModels> = {
  passkey_prompt: passkeyPrompt,
  account_passkey: accountPasskey
}
