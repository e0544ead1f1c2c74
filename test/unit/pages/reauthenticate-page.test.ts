/** The page `reauthenticate` for each combination of proofs that a user can give. */
import t from '../../support/tap.ts'
import { renderPage } from '../../support/render-page.ts'
import { MODELS } from './models.ts'
import { all, parse, textOf } from './strict-html.ts'

const model = MODELS.reauthenticate

t.test('says that a passkey is needed only if the page has no other proof', async (t) => {
  for (const asksPassword of [true, false])
    for (const sendsCode of [true, false])
      for (const connections of [model.connections, []])
        for (const passkey of [model.passkey, null]) {
          const root = parse(renderPage('reauthenticate', { ...model, asksPassword, sendsCode, connections, passkey }))
          const said = all(root, 'p').some((one) => textOf(one).includes(model.messages.passkeysMissing))
          const alone = passkey !== null && !asksPassword && !sendsCode && connections.length === 0
          t.equal(said, alone, JSON.stringify({ asksPassword, sendsCode, connections: connections.length, passkey }))
        }
})

t.test('shows the button for an emailed code as the main button unless the page has a passkey', async (t) => {
  for (const passkey of [model.passkey, null]) {
    const root = parse(renderPage('reauthenticate', { ...model, asksPassword: false, sendsCode: true, passkey }))
    const [button] = all(root, 'button').filter(({ attributes }) => attributes['value'] === 'email')
    t.equal(button?.attributes['class'], passkey === null ? undefined : 'quiet')
  }
})
