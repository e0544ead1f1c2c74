// What tap learns of errors that nobody caught, in place of the package async-hook-domain. That one follows every
// promise of the process to find the test that began it, which is a tenth of what our tests do. Here such an error is
// the innermost test's that is running.
const running = []

export class Domain {
  constructor(onerror) {
    // tap calls it by this name.
    Object.assign(this, { onerror })
    running.push(this)
  }

  destroy() {
    const index = running.indexOf(this)
    if (index !== -1) running.splice(index, 1)
  }
}

/** Whether a test took it. A program that listens by itself is asked first. */
function take(error, origin) {
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return false
  running.at(-1)?.onerror(error, origin)
  return running.length > 0
}

process.on('uncaughtExceptionMonitor', (error, origin) => {
  // Called once, for this error, in place of the end of the process.
  if (take(error, origin))
    process.setUncaughtExceptionCaptureCallback(() => {
      process.setUncaughtExceptionCaptureCallback(null)
    })
})

// Not a listener: a test may count those.
const { emit } = process
process.emit = function (name, ...args) {
  if (name !== 'unhandledRejection' || process.listenerCount(name) > 0) return emit.call(this, name, ...args)
  return take(args[0], name)
}
