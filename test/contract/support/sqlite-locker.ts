/** A process of its own that takes the write lock of a file, says so, and lets go when it is told to. */
import Database from 'libsql'

const db = new Database(process.argv[2] ?? '')
db.exec('BEGIN IMMEDIATE')
process.send?.('locked')
process.once('message', () => {
  db.exec('COMMIT')
  db.close()
  process.disconnect()
})
