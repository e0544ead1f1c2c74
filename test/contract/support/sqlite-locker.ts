/** A process that takes the write lock of a file, reports that, and releases it when told to. */
import Database from 'libsql'

const db = new Database(process.argv[2] ?? '')
db.exec('BEGIN IMMEDIATE')
process.send?.('locked')
process.once('message', () => {
  db.exec('COMMIT')
  db.close()
  process.disconnect()
})
