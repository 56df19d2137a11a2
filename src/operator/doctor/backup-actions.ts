/** Whether a backup can be relied on. */
import { counted } from '../../base/moments.ts'
import { flag } from '../../entity/kinds.ts'
import { action, eachOf, type Actions } from '../action.ts'
import { findingsShown } from './finding.ts'
import { checkCopy } from './check-copy.ts'

export const backupActions: Actions = {
  'backup check': action({
    does: 'checks that a restored copy is complete and intact, before a gateway starts on it',
    needs: 'system',
    here: true,
    long: true,
    takes: { all: { is: flag, means: 'opens every sealed value, not only some 1,000 of each table' } },
    perform: (office, { all }) => eachOf(office, checkCopy(office, all ? 'all' : 'sample')),
    gives: findingsShown((problems) => ({
      json: { whole: problems === 0 },
      text: problems === 0 ? 'The copy is whole.' : `${counted(problems, 'problem')}.`,
    })),
    more: `Looks at the database of DATABASE_URL with the key-encryption key of TOLLGATE_KEY_FILE: its migrations, whether the
key opens the data keys and these open the sealed values, whether the books of every order add up, whether new ids are above
all used ones, the chain of the audit trail, and the time of the newest row.
It reads all orders of every cell, in one read-only transaction each, and changes nothing.
Ends with 0 if the copy is whole, with 1 if the check found a fault.

Only the acquirer knows which payments the restore lost: {reconcile}`,
    examples: ['backup check', 'backup check --all --json'],
  }),
}
