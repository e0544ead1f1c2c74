import { CliError, type StoreCommand } from './command.ts'

export const AUDIT_VERIFY: StoreCommand = {
  name: 'audit verify',
  takes: [],
  does: 'Looks for changes in the audit log. Exits with 1 if there is one.',
  async run({ authority }) {
    const { entries, faults } = await authority.verifyAudit()
    if (faults.length === 0) return { entries }
    throw new CliError(1, faults.map(({ chain, seq, fault }) => `${fault}: entry ${seq} of ${chain}`).join('\n'))
  }
}
