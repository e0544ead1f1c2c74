// Takes the place of the package async-hook-domain, by which tap finds the test of an error that nobody catches. That
// one follows each promise by async hooks, which took a tenth of the time of all tests. Tests that share a process run
// one after another, so the test that began last has thrown: that is known without hooks.
const domains = []

export class Domain {
  /** tap reads `onerror` too. */
  constructor(onerror) {
    Object.assign(this, { onerror })
    if (domains.push(this) === 1) process.on('uncaughtExceptionMonitor', tell)
  }

  destroy() {
    const index = domains.indexOf(this)
    if (index !== -1) domains.splice(index, 1)
    if (domains.length === 0) process.removeListener('uncaughtExceptionMonitor', tell)
  }
}

function tell(error, kind) {
  // A test that listens itself has the error.
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return
  domains.at(-1).onerror(error, kind)
  // Keeps the process from ending of this error.
  process.setUncaughtExceptionCaptureCallback(() => {
    process.setUncaughtExceptionCaptureCallback(null)
  })
}
