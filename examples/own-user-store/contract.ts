/**
 * Does the store keep what the plugin relies on? With node:test here; any runner that takes `(name, run)` will do.
 *
 *   npm run build:examples && node --test dist/examples/own-user-store/contract.js
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { delayed, IDENTITY_METHODS, runContract, userStoreContract } from 'fastify-authority/testing'
import Database from 'libsql'
import { peopleStore } from './people.ts'
import { addColumns, EXISTING_TABLE } from './table.ts'

function openDatabase(people = '') {
  const db = new Database(':memory:')
  db.exec(`${EXISTING_TABLE}; ${people}`)
  addColumns(db)
  return db
}

runContract(
  userStoreContract(async () => {
    const db = openDatabase()
    // `delayed` puts turns of the event loop around every call: calls to this driver would never overlap by themselves.
    return {
      store: delayed(peopleStore(db)),
      close: async () => {
        db.close()
      }
    }
  }, IDENTITY_METHODS),
  test
)

// The suite can't know the rows that were there before.
void test("a person of old is found in the plugin's form, and an old hash gives way to the new one once", async () => {
  const db = openDatabase(
    "INSERT INTO crm_person (login, crypt_pw, mail) VALUES ('Ann', 'bcrypt-hash', " +
      "'ann@example.com'), ('Bob', NULL, NULL)"
  )
  const people = peopleStore(db)
  deepEqual(await people.findByUsername('ann'), {
    id: '1',
    username: 'ann',
    passwordHash: 'bcrypt-hash',
    email: 'ann@example.com',
    emailVerified: false,
    disabled: false
  })
  equal(await people.setPasswordHash('1', 'new', 'bcrypt-hash'), true)
  equal(await people.setPasswordHash('1', 'newer', 'bcrypt-hash'), false)
  const inBothColumns = db.prepare('SELECT crypt_pw, pwd FROM crm_person WHERE person_no = 1').raw().get()
  deepEqual(inBothColumns, [null, 'new'])

  equal((await people.findById('2'))?.passwordHash, null)
  equal(await people.setPasswordHash('2', 'first', null), true)
  for (const id of ['02', '2.0', ' 2', '2e0', '0x2']) equal(await people.findById(id), null)
  db.close()
})
