/** Whether an installation is well. */
import { counted } from '../../base/moments.ts'
import { action, eachOf, type Actions } from '../action.ts'
import { examine } from './examine.ts'
import { findingsShown } from './finding.ts'

export const doctorActions: Actions = {
  doctor: action({
    does: 'checks the configuration and the running installation, and says what to do',
    needs: 'read',
    overAnyLine: true,
    takes: {},
    perform: (office) => eachOf(office, examine(office)),
    gives: findingsShown((problems, warnings) => ({
      json: { healthy: problems === 0, problems, warnings },
      text: problems + warnings === 0 ? 'All is well.' : `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`,
    })),
    more: `Looks at the database, the line to it and its clock, migrations, keys, control keys that can be guessed, running
gateways, overdue and parked work, callbacks that wait, partitions, card ranges of directory servers, gates and their
certificates, core dumps and swap of this machine, and whether its Node still gets repairs.
It changes nothing. Ends with 1 when there is a problem; warnings alone end with 0.`,
    examples: ['doctor', 'doctor --json'],
  }),
}
