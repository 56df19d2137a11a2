/** Gates: lines to acquirers. */
import { exactSpan } from '../../base/moments.ts'
import { name, Unreadable, type ValueKind } from '../../entity/kinds.ts'
import { changed, type Fact, hint, numbered, onOff, stateColumn } from '../../entity/show.ts'
import { gateFields } from '../../merchant/fields/gate.ts'
import { action, settingsOf, listing, type Actions } from '../action.ts'
import { switchesOf } from './switches.ts'
import { lineFacts, lineInputs, lineJson } from './gate-line.ts'
import { addGate, gateKept, setGate } from './gate-rows.ts'
import { withDryRun } from '../history/dry-run.ts'
import { gateNamed, listGates, type GateEntry } from '../known.ts'
import { describe, jsonBy, schema } from '../../entity/json.ts'

const aGate = { is: name, argument: true, needed: true, means: 'id or name of the gate' } as const

/** Not a number, which would be an id; and lists of gates have commas. */
const newName: ValueKind<string> = {
  ...name,
  read: (written) =>
    /^[0-9]+$|,/.test(written) ? new Unreadable('a name that is no number and has no comma') : name.read(written),
}

const called = ({ gateId, name: of }: GateEntry) => `Gate ${gateId} (${of})`

const ownJson = jsonBy('gate_id:id name enabled:flag created_at:time', (g: GateEntry) => g)
const gateJson = describe(
  (g: GateEntry) => ({ ...ownJson(g), ...gateFields.json(g.settings), ...lineJson(g.settings) }),
  schema('tls:object? mac?', ownJson.schema, gateFields.json.schema),
)

const gateFacts = (g: GateEntry): Fact[] => [
  ['Name', g.name],
  ['State', onOff(g.enabled), 'status'],
  ...lineFacts(g.settings),
  ...gateFields.facts(g.settings),
]

export const gateActions: Actions = {
  'gate add': action({
    does: 'adds a gate: a line to an acquirer',
    needs: 'configure',
    takes: {
      name: { is: newName, needed: true, means: 'a name to display and to use in commands' },
      ...settingsOf(gateFields.table, 'new'),
      ...lineInputs,
    },
    perform: addGate,
    gives: {
      json: gateJson,
      blocks: (gate) => [
        hint(`${called(gate)} is added. To see whether it can be reached`, 'doctor'),
        hint('An endpoint that uses it', `endpoint add --gate ${gate.gateId} …`),
      ],
    },
    more: 'Your acquirer gives you host, port, terminal, card acceptor, acquirer id and MCC. All of them are needed.',
    examples: [
      'gate add --name acme --host acquirer.example --port 8583 --terminal-id SHOP0001 --card-acceptor-id 000000000012345 ' +
        '--card-acceptor-name "The Shop, Berlin" --acquirer-id 400001 --mcc 5999 --country DE ' +
        '--descriptor "THE SHOP" --tls on --tls-ca acquirer-ca.pem',
    ],
  }),
  'gate list': action({
    does: 'lists all gates',
    needs: 'read',
    takes: {},
    perform: ({ pool }) => listGates(pool),
    gives: listing<GateEntry>({
      name: 'gates',
      json: gateJson,
      columns: [
        numbered(
          'ID',
          (g) => g.gateId,
          (g) => `gate show ${g.gateId}`,
        ),
        { title: 'NAME', of: (g) => g.name },
        stateColumn,
        { title: 'ADDRESS', of: (g) => `${g.settings.host}:${g.settings.port}` },
        { title: 'LINE', of: ({ settings: s }) => `${s.tls ? 'TLS' : 'unencrypted'}${s.mac ? ', MAC' : ''}` },
        { title: 'TERMINAL', of: (g) => g.settings.terminalId },
        { title: 'TIMEOUT', of: (g) => exactSpan(g.settings.answerTimeoutMs), align: 'right' },
        numbered('MAX OPEN', (g) => g.settings.maxOpen),
        { title: 'DESCRIPTOR', of: (g) => g.settings.descriptor },
      ],
      none: hint('No gates yet. Add the first', 'gate add --help'),
    }),
    examples: ['gate list'],
  }),
  'gate show': action({
    does: 'shows one gate with all its settings',
    needs: 'read',
    settings: (gate) => gate,
    takes: { gate: aGate },
    perform: ({ pool }, { gate }) => gateNamed(pool, gate),
    gives: { json: gateJson, blocks: (gate) => [`Gate ${gate.gateId}`, { facts: gateFacts(gate) }] },
    examples: ['gate show acme'],
  }),
  'gate set': withDryRun({
    does: 'changes settings of a gate; settings that you do not name stay',
    needs: 'configure',
    settings: ({ after }) => after,
    takes: { gate: aGate, ...settingsOf(gateFields.table, 'there'), ...lineInputs },
    perform: setGate,
    gives: {
      json: ({ after }) => gateJson(after),
      is: gateJson.schema,
      blocks: ({ before, after }, { asked }) =>
        changed(called(after), gateFacts(before), gateFacts(after), [
          ['Private key', asked.tlsKey && 'replaced'],
          ['Key of the MAC', asked.macKeyFile && 'replaced'],
        ]),
    },
    more: 'A changed gate opens a new line; messages on the old line are answered or reversed.',
    examples: [
      'gate set acme --answer-timeout 20s --max-open 500',
      'gate set acme --tls on --tls-ca acquirer-ca.pem --tls-cert acme.pem --tls-key acme.key',
      'gate set acme --mac aes-cmac --mac-key-file acme-mac.key',
    ],
  }),
  ...switchesOf({
    kept: gateKept,
    takes: { gate: aGate },
    example: 'acme',
    find: (runner, { gate }) => gateNamed(runner, gate),
    of: (runner, { entityId }) => gateNamed(runner, String(entityId)),
    called,
    facts: gateFacts,
    json: gateJson,
    ids: ({ gateId }) => ({ gate_id: gateId }),
    disable: 'stops sending new payments to a gate; endpoints use the next of their gates',
    enable: 'sends payments to a gate again',
  }),
}
