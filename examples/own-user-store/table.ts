/** The table that was there before us, and the two columns that it gets. */
import type Database from 'libsql'

export type PeopleDatabase = InstanceType<typeof Database>

/**
 * The application's table from before: numbers for ids, the login as it was typed, bcrypt in a column of 60 characters.
 */
export const EXISTING_TABLE = `
  CREATE TABLE crm_person (
    person_no INTEGER PRIMARY KEY AUTOINCREMENT,
    login VARCHAR(254) NOT NULL,
    crypt_pw CHAR(60),
    mail VARCHAR(254),
    mail_ok INTEGER NOT NULL DEFAULT 0,
    locked_since TEXT
  )`

/**
 * The migration. `login_key` is the login in the form that the plugin asks for (NFC, lower case; for email addresses
 * of other scripts see the guide on importing users), under a unique index: two people whose logins differ in case only
 * make it fail, and have to be told apart first. `pwd` is for new hashes, which are longer than `crypt_pw`; SQLite
 * would not mind, others would.
 */
export function addColumns(db: PeopleDatabase): void {
  db.transaction(() => {
    db.exec('ALTER TABLE crm_person ADD COLUMN login_key TEXT')
    db.exec('ALTER TABLE crm_person ADD COLUMN pwd TEXT')
    const setKey = db.prepare('UPDATE crm_person SET login_key = ? WHERE person_no = ?')
    const people = db.prepare('SELECT person_no, login FROM crm_person').all() as Array<{
      person_no: number
      login: string
    }>
    for (const { person_no: no, login } of people) setKey.run(login.normalize('NFC').toLowerCase(), no)
    db.exec('CREATE UNIQUE INDEX crm_person_login_key ON crm_person (login_key)')
  })()
}
