import t from '../support/tap.ts'
import type { Tokens } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import { askForDevice } from './support/device-states.ts'
import { fill, heading, press, signInOn, valuesOf, WITH_AND_WITHOUT } from './support/journeys.ts'
import { type Provider, startProvider } from './support/provider.ts'

const { newPage } = await withChromium(t)
const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

async function poll({ app }: Provider, device_code: string): Promise<Partial<Tokens> & { error?: string }> {
  const payload = { grant_type: GRANT, client_id: 'tv', device_code }
  return (await app.inject({ method: 'POST', url: '/auth/token', payload })).json()
}

for (const { name, options } of WITH_AND_WITHOUT) {
  t.test(`connects a device on a phone ${name}`, async (t) => {
    const provider = await startProvider(t, { deviceGrant: true })
    const page = await newPage(t, { ...options, ...PHONE })
    const { device_code, user_code } = await askForDevice(provider)
    await page.goto(`${provider.origin}/device?user_code=${user_code}`)
    t.equal(await heading(page), 'Connect a device')
    t.strictSame(await valuesOf(page, 'Code'), [user_code])
    t.equal((await poll(provider, device_code)).error, 'authorization_pending', 'the address alone sends nothing')
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Continue' }).tap()])
    await signInOn(page)
    t.equal(await heading(page), 'Connect a device', 'the code is not sent by the way back')
    t.strictSame(await valuesOf(page, 'Code'), [user_code])
    await press(page, 'Continue')
    t.equal(await heading(page), 'Acme TV wants access to your account')
    const main = await page.getByRole('main').innerText()
    for (const said of [user_code, 'acme-tv/1.0', '127.0.0.1', 'only if you started this yourself', 'know who you are'])
      t.ok(main.includes(said), `the page says ${said}`)
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing scrolls sideways')
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Allow' }).tap()])
    t.equal(await heading(page), 'Your device is connected')
    t.ok((await poll(provider, device_code)).access_token)
    await page.reload()
    t.equal(await heading(page), 'Your device is connected', 'a reload repeats nothing')
  })
}

t.test('denies a device with the keyboard alone, and reports a malformed code', async (t) => {
  const provider = await startProvider(t, { deviceGrant: true })
  const page = await newPage(t, { locale: 'en' })
  const { device_code, user_code } = await askForDevice(provider)
  const enter = async (): Promise<void> => {
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
  }
  await page.goto(`${provider.origin}/auth/login?return_to=/device`)
  await signInOn(page)
  await page.getByLabel('Code', { exact: true }).and(page.locator(':focus')).waitFor()
  await page.keyboard.type(user_code.toLowerCase().replace('-', ' '))
  await enter()
  t.equal(await heading(page), 'Acme TV wants access to your account')
  const deny = page.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus'))
  for (let presses = 0; presses < 10 && (await deny.count()) === 0; presses++) await page.keyboard.press('Tab')
  await enter()
  t.equal(await heading(page), 'The device was not connected')
  t.equal((await poll(provider, device_code)).error, 'access_denied')
  await page.goto(`${provider.origin}/device`)
  await fill(page, { Code: 'bad' })
  await press(page, 'Continue')
  t.match(await page.getByRole('alert').allInnerTexts(), [/8 letters/])
})
