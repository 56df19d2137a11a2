import type { Command } from 'commander'
import { groupJson } from '../../../operator/configuration/endpoint.ts'
import { nameMisfit } from '../../../operator/configuration/settings.ts'
import { listGroups, merchantNamed, type GroupEntry } from '../../../operator/configuration/rows.ts'
import { addGroup, setGroupEnabled } from '../../../operator/configuration/endpoint-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { addSwitches, stateColumn } from '../entity.ts'
import { verb } from '../entity.ts'
import { atOffice } from '../installation.ts'
import { anId, judged, jsonOption, someIds } from '../options.ts'
import { table } from '../present.ts'

export function addGroupCommands(program: Command, terminal: Terminal): void {
  const group = program.command('group').description('endpoint groups: one id for endpoints in several currencies')
  group
    .command('add')
    .description('makes a group of endpoints of one merchant')
    .requiredOption('--merchant <login>', 'whose it is')
    .requiredOption('--name <name>', 'for people', judged(nameMisfit))
    .requiredOption('--endpoint <ids>', 'its endpoints, by comma or given several times', someIds)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
A payment goes to the first member of its currency that is on.

Examples
  npx tollgate group add --merchant shop --name all --endpoint 101,102`,
    )
    .action(add.bind(undefined, terminal))
  verb(group, 'list', 'all groups', 'group list', 'group list --merchant shop --json')
    .option('--merchant <login>', 'only of this merchant')
    .action(list.bind(undefined, terminal))
  addSwitches(group, terminal, {
    of: '<id>',
    means: 'number of the group',
    read: anId,
    example: '103',
    disable: 'no new payments are taken by its path; its endpoints go on by theirs',
    enable: 'payments are taken by its path again',
    async set(office, groupId, enabled) {
      await setGroupEnabled(office, groupId, enabled)
      return { ids: { group_id: groupId }, name: `Group ${groupId}` }
    },
  })
}

async function add(
  terminal: Terminal,
  options: { merchant: string; name: string; endpoint: bigint[]; json?: true },
): Promise<void> {
  await atOffice(terminal, async (office) => {
    const groupId = await addGroup(office, options.merchant, options.name, options.endpoint)
    if (options.json)
      return terminal.printJson({
        group_id: groupId,
        name: options.name,
        merchant: options.merchant,
        endpoint_ids: options.endpoint,
      })
    terminal.print(`Group ${groupId} (${options.name}) is made. Its path: /api/v2/sale/group/${groupId}`)
  })
}

async function list(terminal: Terminal, options: { merchant?: string; json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const of = options.merchant === undefined ? undefined : await merchantNamed(pool, options.merchant)
    const groups = (await listGroups(pool)).filter((g) => of === undefined || g.merchantId === of.merchantId)
    if (options.json) return terminal.printJson({ groups: groups.map(groupJson) })
    if (groups.length === 0)
      return terminal.print('No endpoint groups. Make one: npx tollgate group add --merchant shop --name all --endpoint 101,102')
    terminal.print(groupTable(groups))
  })
}

export const groupTable = (groups: readonly GroupEntry[]): string =>
  table(
    [
      { title: 'ID', of: (g) => String(g.groupId), align: 'right' },
      { title: 'MERCHANT', of: (g) => g.login },
      { title: 'NAME', of: (g) => g.name },
      stateColumn,
      { title: 'ENDPOINTS', of: (g) => g.endpointIds.join(', ') },
    ],
    groups,
  )
