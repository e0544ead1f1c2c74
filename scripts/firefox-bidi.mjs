#!/usr/bin/env node
// Starts Firefox with the arguments given, and stands between it and the driver that speaks WebDriver BiDi: Firefox ESR
// 153 does not know a command that Playwright sends for each context. It is answered here as done, which is true if no
// color scheme is asked for.
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'

const UNKNOWN = 'emulation.setMediaFeaturesOverride'
const firefox = spawn(process.env.FIREFOX_PATH ?? '/usr/bin/firefox-esr', process.argv.slice(2), {
  stdio: ['ignore', 'pipe', 'pipe']
})
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
  process.on(signal, () => {
    firefox.kill(signal)
  })
firefox.on('exit', (code) => {
  process.exit(code ?? 1)
})
for (const stream of [firefox.stdout, firefox.stderr]) createInterface({ input: stream }).on('line', tell)

function tell(line) {
  const [, port] = /WebDriver BiDi listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(line) ?? []
  if (port === undefined) {
    process.stderr.write(`${line}\n`)
    return
  }
  const proxy = createServer((driver) => {
    const browser = connect(Number(port), '127.0.0.1')
    browser.pipe(driver)
    driver.on(
      'data',
      editor(port, (bytes) => {
        browser.write(bytes)
      })
    )
    for (const socket of [driver, browser]) {
      for (const end of ['close', 'error']) {
        socket.on(end, () => {
          driver.destroy()
          browser.destroy()
        })
      }
    }
  })
  proxy.listen(0, '127.0.0.1', () => {
    process.stderr.write(`WebDriver BiDi listening on ws://127.0.0.1:${proxy.address().port}\n`)
  })
}

/** Edits the driver's frames one by one. @see RFC 6455 §5.2 */
function editor(port, send) {
  let isUpgraded = false
  let left = Buffer.alloc(0)
  return (chunk) => {
    left = Buffer.concat([left, chunk])
    if (!isUpgraded) {
      const end = left.indexOf('\r\n\r\n') + 4
      if (end < 4) return
      // Firefox compares the port.
      send(
        left
          .subarray(0, end)
          .toString('latin1')
          .replace(/^host:.*$/im, `Host: 127.0.0.1:${port}`)
      )
      left = left.subarray(end)
      isUpgraded = true
    }
    for (let frame = firstFrame(left); frame !== null; frame = firstFrame(left)) {
      const message = frame.payload.includes(UNKNOWN) ? JSON.parse(frame.payload.toString('utf8')) : {}
      send(
        message.method === UNKNOWN
          ? frameOf(JSON.stringify({ id: message.id, method: 'session.status', params: {} }))
          : left.subarray(0, frame.size)
      )
      left = left.subarray(frame.size)
    }
  }
}

/** `null`: it is not all there yet. */
function firstFrame(bytes) {
  if (bytes.length < 2) return null
  const short = bytes[1] & 127
  const head = short === 127 ? 10 : short === 126 ? 4 : 2
  if (bytes.length < head + 4) return null
  const length = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
  const size = head + 4 + length
  return bytes.length < size
    ? null
    : { size, payload: masked(bytes.subarray(head + 4, size), bytes.subarray(head, head + 4)) }
}

/** The frame of a short text. Firefox takes no mask of zeroes. */
function frameOf(text) {
  const mask = Buffer.from([1, 2, 3, 4])
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length]), mask, masked(Buffer.from(text), mask)])
}

function masked(bytes, mask) {
  return bytes.map((byte, at) => byte ^ mask[at % 4])
}
