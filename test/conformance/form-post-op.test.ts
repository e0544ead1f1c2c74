import t from '../support/tap.ts'
import { CALLBACK } from '../support/openid.ts'
import { BASIC_MODULES } from './support/basic-modules.ts'
import { startSuite } from './support/suite.ts'

/** `oidcc-formpost-basic-certification-test-plan`: every module of the Basic plan, with `response_mode=form_post`. */
for (const [name, run] of Object.entries(BASIC_MODULES)) {
  t.test(`OIDF-${name} by form_post`, async (t) => {
    await run(await startSuite(t, 'form_post'))
  })
}

t.test('serves the form_post page with its script, and allows the form to post to the client', async (t) => {
  const { op, paramsOf } = await startSuite(t, 'form_post')
  const url = `${op.endpoint('authorization_endpoint')}?${new URLSearchParams(paramsOf({ prompt: 'none' })).toString()}`
  const response = await fetch(url, { redirect: 'manual' })
  const html = await response.text()
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), /^text\/html/)
  t.match(response.headers.get('cache-control'), /no-store/)
  t.match(response.headers.get('content-security-policy'), `form-action 'self' ${new URL(CALLBACK).origin};`)
  t.match(html, `<form method="post" action="${CALLBACK}">`)
  const [, script = ''] = /<script src="([^"]+)" defer>/.exec(html) ?? []
  const served = await fetch(new URL(script, url))
  t.equal(served.status, 200)
  t.match(served.headers.get('content-type'), /^text\/javascript/)
  t.match(await served.text(), '[data-submit] form')
})
