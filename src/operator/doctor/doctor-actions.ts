/** Whether an installation is well. */
import { counted } from '../../base/moments.ts'
import { action, eachOf, type Actions } from '../action.ts'
import { examine } from './examine.ts'
import { findingsShown } from './finding.ts'

export const doctorActions: Actions = {
  doctor: action({
    does: 'checks the configuration and the running installation, and gives advice',
    needs: 'read',
    overAnyLine: true,
    takes: {},
    perform: (office) => eachOf(office, examine(office)),
    gives: findingsShown((problems, warnings) => ({
      json: { healthy: problems === 0, problems, warnings },
      text: problems + warnings === 0 ? 'All is well.' : `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`,
    })),
    more: `Checks the database, the connection to it and its clock, migrations, keys, control keys that can be guessed, running
gateways, overdue and parked work, waiting callbacks, partitions, card ranges of directory servers, gates and their
certificates, core dumps and swap of this machine, and whether its Node still gets repairs.
Changes nothing. Ends with 1 if there is a problem; warnings alone end with 0.`,
    examples: ['doctor', 'doctor --json'],
  }),
}
