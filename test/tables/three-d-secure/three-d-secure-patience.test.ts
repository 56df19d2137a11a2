import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openTurns } from '../../../src/base/turn.ts'
import { learnedFrom } from '../../../src/order/authentication/plan.ts'
import { messages } from '../../../src/spec/three-d-secure/messages.ts'
import { asciiText } from '../../../src/base/ascii.ts'
import { veres } from '../../../src/spec/three-d-secure/legacy.ts'
import { openMessage, readValues } from '../../../src/three-d-secure/legacy/legacy.ts'
import { readXml } from '../../../src/three-d-secure/legacy/xml.ts'
import { openDirectories } from '../../../src/three-d-secure/directory.ts'
import { answerResult } from '../../../src/three-d-secure/inbound.ts'
import { readMessage, type MessageType, type ReadMessage } from '../../../src/three-d-secure/codec.ts'
import {
  acsId,
  cavv,
  changed,
  dsId,
  good,
  serverId,
  verdictOf,
  type Fields,
} from '../../harness/three-d-secure/three-d-secure-messages.ts'
import { anySign } from '../contract/any-sign.ts'

type Answer = Extract<MessageType, 'ARes' | 'RReq' | 'CRes' | 'PRes' | 'Erro'>

interface Heard {
  read: ReadMessage
  strict: ReadMessage
  odd: string[]
}

function hear(type: Answer, text: string): Heard {
  const odd = new Set<string>()
  const read = readMessage(text, { types: [type], odd })
  return { read, strict: readMessage(text, { types: [type] }), odd: [...odd] }
}

const fieldsOf = (read: ReadMessage): Fields => (read.is === 'message' ? read.message : {})

/** A good message of 2.2.0 with this status and without anything that only another one has. */
const about = (type: Answer, transStatus: string): Fields => {
  const proof = transStatus === 'Y' || transStatus === 'A' ? { authenticationValue: cavv } : {}
  const rest = ['authenticationValue', 'transStatusReason', 'challengeCancel', ...(transStatus === 'C' ? [] : ['acsURL'])]
  const bare = rest.reduce<Fields>((all, name) => changed(all, name, undefined), good(type, '2.2.0'))
  return { ...bare, transStatus, ...('NUR'.includes(transStatus) ? { transStatusReason: '01' } : {}), ...proof }
}

/** A field, its value as sent and as read, what is noted, and the code of a strict reader. */
type Row = readonly [type: Answer, status: string, field: string, sent: unknown, read: unknown, noted: string, strict: string]

const long = 'Bitte rufen Sie Ihre Bank an. '.repeat(8)

// oxfmt-ignore
const odds: readonly Row[] = [
  // message, status, field             sent                 read                    noted                     strictly
  ['ARes', 'N', 'transStatusReason',    undefined,           undefined,              'transStatusReason missing',    '201'],
  ['ARes', 'N', 'transStatusReason',    '27',                '27',                   'transStatusReason unfit',      '203'],
  ['ARes', 'N', 'transStatusReason',    'no money',          undefined,              'transStatusReason unfit',      '203'],
  ['ARes', 'U', 'transStatusReason',    null,                undefined,              'transStatusReason empty',      '201'],
  ['ARes', 'N', 'cardholderInfo',       long,                long.slice(0, 128).trim(), 'cardholderInfo unfit',      '203'],
  ['ARes', 'Y', 'cardholderInfo',       `x${'漢'.repeat(200)}`, `x${'漢'.repeat(127)}`, 'cardholderInfo unfit',      '203'],
  ['ARes', 'Y', 'cardholderInfo',       'a\u0000b\ud800',    'ab',                   'cardholderInfo unfit',         '203'],
  ['ARes', 'Y', 'cardholderInfo',       '  ',                undefined,              'cardholderInfo empty',         '203'],
  ['ARes', 'Y', 'eci',                  '5',                 '05',                   'eci unfit',                    '203'],
  ['ARes', 'N', 'eci',                  '7',                 '07',                   'eci unfit',                    '203'],
  ['ARes', 'Y', 'eci',                  '',                  undefined,              'eci empty',                    '203'],
  ['ARes', 'Y', 'eci',                  null,                undefined,              'eci empty',                    '203'],
  ['ARes', 'Y', 'eci',                  5,                   undefined,              'eci unfit',                    '203'],
  ['ARes', 'Y', 'acsReferenceNumber',   undefined,           undefined,              'acsReferenceNumber missing',   '201'],
  ['ARes', 'Y', 'dsReferenceNumber',    'd'.repeat(33),      'd'.repeat(32),         'dsReferenceNumber unfit',      '203'],
  ['ARes', 'C', 'authenticationType',   undefined,           undefined,              'authenticationType missing',   '201'],
  ['ARes', 'C', 'acsChallengeMandated', 'y',                 undefined,              'acsChallengeMandated unfit',   '203'],
  ['ARes', 'N', 'acsURL',               '',                  undefined,              'acsURL empty',                 '203'],
  ['ARes', 'N', 'acsURL',               'not a URL',         undefined,              'acsURL unfit',                 '203'],
  ['ARes', 'N', 'authenticationValue',  '',                  undefined,              'authenticationValue empty',    '203'],
  ['ARes', 'N', 'authenticationValue',  'AAA=',              undefined,              'authenticationValue unfit',    '203'],
  ['ARes', 'Y', 'whiteListStatus',      'X',                 undefined,              'whiteListStatus unfit',        '203'],
  ['ARes', 'Y', 'messageExtension',     'none',              undefined,              'messageExtension unfit',       '203'],
  ['ARes', 'Y', 'messageExtension',     [],                  undefined,              'messageExtension empty',       '203'],
  ['RReq', 'N', 'authenticationType',   undefined,           undefined,              'authenticationType missing',   '201'],
  ['RReq', 'Y', 'authenticationType',   '9',                 undefined,              'authenticationType unfit',     '203'],
  ['RReq', 'N', 'interactionCounter',   '1',                 '01',                   'interactionCounter unfit',     '203'],
  ['RReq', 'N', 'interactionCounter',   undefined,           undefined,              'interactionCounter missing',   '201'],
  ['RReq', 'N', 'challengeCancel',      '',                  undefined,              'challengeCancel empty',        '203'],
  ['RReq', 'N', 'challengeCancel',      '99x',               undefined,              'challengeCancel unfit',        '203'],
  ['RReq', 'N', 'transStatusReason',    undefined,           undefined,              'transStatusReason missing',    '201'],
  ['RReq', 'N', 'transStatusReason',    '14',                '14',                   'challengeCancel missing',      '201'],
  ['RReq', 'A', 'eci',                  null,                undefined,              'eci empty',                    '203'],
  ['CRes', 'Y', 'messageExtension',     null,                undefined,              'messageExtension empty',       '203'],
  ['PRes', '',  'dsTransID',            undefined,           undefined,              'dsTransID missing',            '201'],
  ['PRes', '',  'serialNum',            null,                undefined,              'serialNum empty',              '203'],
  ['PRes', '',  'cardRangeData',        [],                  undefined,              'cardRangeData empty',          '203'],
  ['Erro', '',  'errorComponent',       'X',                 undefined,              'errorComponent unfit',         '203'],
  ['Erro', '',  'errorDescription',     null,                undefined,              'errorDescription empty',       '201'],
]

test('a field that decides nothing never makes a message unusable: it is corrected or left out, and noted', () => {
  for (const [type, status, field, sent, expected, noted, code] of odds) {
    const message = { ...(status === '' ? good(type, '2.2.0') : about(type, status)), [field]: sent }
    const { read, strict, odd } = hear(type, JSON.stringify(message))
    const name = `${type} ${status} ${field} ${JSON.stringify(sent)}`
    assert.equal(read.is, 'message', `${name}: ${verdictOf(read)}`)
    assert.deepEqual(fieldsOf(read)[field], expected, name)
    assert.ok(odd.includes(`${type} ${noted}`), `${name}: ${odd.join()}`)
    assert.equal(verdictOf(strict).slice(0, 3), code, name)
  }
})

// oxfmt-ignore
const refused: readonly (readonly [type: Answer, status: string, field: string, sent: unknown, code: string])[] = [
  ['ARes', 'Y', 'transStatus',          undefined,           '201'], ['ARes', 'Y', 'transStatus',         null,             '201'],
  ['ARes', 'Y', 'transStatus',          'y',                 '203'], ['ARes', 'Y', 'transStatus',         'D',              '203'],
  ['ARes', 'Y', 'transStatus',          'I',                 '203'], ['ARes', 'Y', 'transStatus',         ' Y',             '203'],
  ['ARes', 'Y', 'authenticationValue',  undefined,           '201'], ['ARes', 'Y', 'authenticationValue', null,             '201'],
  ['ARes', 'A', 'authenticationValue',  cavv.slice(1),       '203'], ['ARes', 'Y', 'authenticationValue', `${cavv}\n`,      '203'],
  ['ARes', 'C', 'acsURL',               undefined,           '201'], ['ARes', 'C', 'acsURL',              'javascript:x()', '203'],
  ['ARes', 'Y', 'dsTransID',            undefined,           '201'], ['ARes', 'Y', 'acsTransID',          'x',              '203'],
  ['ARes', 'Y', 'messageVersion',       '2.3.1',             '102'], ['ARes', 'Y', 'messageType',         'ares',           '101'],
  ['RReq', 'Y', 'messageCategory',      undefined,           '201'], ['RReq', 'Y', 'messageCategory',     '1',              '203'],
  ['RReq', 'N', 'transStatus',          'C',                 '203'], ['RReq', 'N', 'transStatus',         '',               '201'],
  ['RReq', 'Y', 'authenticationValue',  '',                  '201'], ['RReq', 'N', 'threeDSServerTransID', null,            '201'],
  ['CRes', 'Y', 'transStatus',          'U',                 '203'], ['Erro', '',  'errorCode',           '1',              '203'],
  ['PRes', '',  'serialNum',            '',                  '203'], ['PRes', '',  'dsEndProtocolVersion', null,            '201'],
]

test('fields that decide something stay exact, even for a patient reader', () => {
  for (const [type, status, field, sent, code] of refused) {
    const message = { ...(status === '' ? good(type, '2.2.0') : about(type, status)), [field]: sent }
    const { read, strict } = hear(type, JSON.stringify(message))
    const name = `${type} ${status} ${field} ${JSON.stringify(sent)}`
    assert.deepEqual([verdictOf(read).slice(0, 3), verdictOf(strict).slice(0, 3)], [code, code], name)
  }
})

test('an extension that may be critical is never passed over, however it is written', () => {
  const extended = (...all: unknown[]) => hear('RReq', JSON.stringify({ ...about('RReq', 'N'), messageExtension: all })).read
  const one = { name: 'x', id: 'y', data: {} }
  for (const critical of [true, 'true', 1, 'False', {}])
    for (const item of [{ ...one, criticalityIndicator: critical }, { criticalityIndicator: critical }])
      for (const all of [[item], ['x', item], [...Array.from({ length: 11 }, () => one), item]])
        assert.equal(verdictOf(extended(...all)).slice(0, 3), '202', JSON.stringify(all))
  for (const critical of [false, 'false', null, undefined])
    assert.equal(verdictOf(extended({ ...one, criticalityIndicator: critical })), 'ok', String(critical))
})

test('a byte order mark, line ends and capitals in ids are taken and noted; a name twice never is', () => {
  const text = JSON.stringify(about('RReq', 'N'))
  const marked = hear('RReq', `\ufeff\r\n${text}\r\n\n`)
  assert.deepEqual([verdictOf(marked.read), marked.odd], ['ok', ['RReq byte order mark']])
  assert.equal(verdictOf(marked.strict), '101 the text is not an object')
  const capitals = hear('RReq', JSON.stringify({ ...about('RReq', 'N'), threeDSServerTransID: serverId.toUpperCase() }))
  assert.deepEqual(
    [fieldsOf(capitals.read)['threeDSServerTransID'], capitals.odd],
    [serverId, ['RReq threeDSServerTransID capitals']],
  )
  for (const name of ['transStatus', 'eci'])
    assert.match(verdictOf(hear('RReq', text.replace('{', `{"${name}":"Y","${name}":"Y",`)).read), /^204 /, name)
})

test('a range keeps its numbers and versions when its method or its kind of issuer cannot be read', () => {
  const [range] = good('PRes', '2.2.0')['cardRangeData'] as Fields[]
  const entry = { ...range, threeDSMethodURL: 'ftp://acs.example', acsInfoInd: ['7'] }
  const { read, odd } = hear('PRes', JSON.stringify({ ...good('PRes', '2.2.0'), cardRangeData: [entry] }))
  const { threeDSMethodURL: _, acsInfoInd: __, ...rest } = entry
  assert.deepEqual(fieldsOf(read)['cardRangeData'], [rest])
  assert.deepEqual(odd, ['PRes cardRangeData.acsInfoInd unfit', 'PRes cardRangeData.threeDSMethodURL unfit'])
})

const noted: string[] = []
const oddities = { noted: (directory: string, _about: string, odd: Iterable<string> = []) => void noted.push(directory, ...odd) }
const log = openLog({ level: 'silent', destination: { write: () => true } })
const capitals = { threeDSServerTransID: serverId.toUpperCase(), acsTransID: acsId.toUpperCase(), dsTransID: dsId.toUpperCase() }

/** The answer to a result of the directory server `ds`, and the result as the gateway gets it. */
async function result(body: string, strict?: ReadonlySet<string>): Promise<{ answer: Fields; taken: Fields | undefined }> {
  noted.splice(0)
  let taken: Fields | undefined
  const known = { version: '2.2.0', directory: 'ds', acsTransId: acsId, dsTransId: dsId, messageCategory: '01' } as const
  const results = {
    wanted: (id: string) => Promise.resolve(id === serverId ? known : undefined),
    result(message: Fields) {
      taken = message
      return Promise.resolve({ is: 'accepted' } as const)
    },
  }
  const parts = { senders: new Map([['cn', 'ds']]), ...(strict && { strict }), turns: openTurns(queueMicrotask), log, oddities }
  const answer = await answerResult(Buffer.from(body), parts, results, 'cn')
  return { answer: JSON.parse(answer ?? '{}') as Fields, taken }
}

test('a result counts with any mark and spelling of its ids; a strict reader wants each exactly', async () => {
  const odd = { ...about('RReq', 'N'), authenticationType: undefined, interactionCounter: '1', eci: null }
  const { answer, taken: read } = await result(`\ufeff${JSON.stringify({ ...odd, ...capitals })}\r\n`)
  // In RRes, ids are as in RReq, except our own.
  const { threeDSServerTransID, acsTransID, dsTransID, messageType } = answer
  assert.deepEqual(
    [messageType, threeDSServerTransID, acsTransID, dsTransID],
    ['RRes', serverId, capitals.acsTransID, capitals.dsTransID],
  )
  assert.deepEqual([read?.['transStatus'], read?.['threeDSServerTransID']], ['N', serverId])
  const [peer, ...all] = noted
  assert.deepEqual([peer, all.filter((what) => / capitals$| mark$/.test(what)).length, all.length], ['ds', 4, 7])
  const strict = new Set(['ds'])
  for (const [body, code] of [
    [JSON.stringify({ ...about('RReq', 'N'), interactionCounter: '1' }), '203'],
    [`\ufeff${JSON.stringify(about('RReq', 'N'))}`, '101'],
    [JSON.stringify({ ...about('RReq', 'N'), dsTransID: capitals.dsTransID }), '301'],
    [JSON.stringify({ ...about('RReq', 'N'), threeDSServerTransID: capitals.threeDSServerTransID }), '301'],
  ] as const) {
    const refusal = await result(body, strict)
    assert.deepEqual([refusal.answer['errorCode'], refusal.taken], [code, undefined], body)
  }
  assert.equal((await result(JSON.stringify(about('RReq', 'N')), strict)).answer['messageType'], 'RRes')
})

test('an answer to AReq counts the same way; where no challenge follows, its address may be any', async () => {
  const ask = async (answer: Fields, strict: boolean) => {
    noted.splice(0)
    const body = Buffer.from(`\ufeff${JSON.stringify(answer)}`.slice(strict ? 1 : 0))
    const sent: string[] = []
    const client = openDirectories({
      directories: [{ name: 'ds', url: 'https://ds.test/', tls: {}, timeoutMs: 1, strict }],
      server: { threeDSServerRefNumber: 'x', threeDSServerURL: 'https://x.test/' },
      outgoing: {
        send: (request) => {
          sent.push(String(request.body))
          return Promise.resolve({ is: 'answered', status: 200, headers: {}, body, truncated: false } as never)
        },
        close: () => Promise.resolve(),
      },
      policy: { plainHttp: false, loopbackAnyPort: false },
      oddities,
      random: systemRandom,
      log,
    })
    const heard = await client.authenticate('ds', good('AReq', '2.2.0') as never)
    await client.close()
    return heard.is === 'answered' ? String(heard.ares['transStatus']) : heard.errorCode
  }
  const no = { ...about('ARes', 'N'), acsURL: 'http://acs.example/' }
  assert.equal(await ask({ ...no, ...capitals }, false), 'N')
  assert.deepEqual(noted, ['ds', 'ARes byte order mark', ...Object.keys(capitals).map((name) => `ARes ${name} capitals`)])
  assert.equal(await ask({ ...about('ARes', 'C'), acsURL: 'http://acs.example/' }, false), '203')
  assert.equal(await ask({ ...about('ARes', 'N'), threeDSServerTransID: acsId }, false), '301')
  assert.deepEqual([learnedFrom(no).acsUrl, learnedFrom(about('ARes', 'C')).acsUrl !== undefined], [undefined, true])
  assert.deepEqual([await ask(no, true), await ask(about('ARes', 'N'), true)], ['203', 'N'])
  assert.equal(await ask({ ...about('ARes', 'N'), threeDSServerTransID: capitals.threeDSServerTransID }, true), '301')
})

const statuses = ['Y', 'A', 'N', 'U', 'R', 'C'] as const
const free = (type: Answer) =>
  Object.entries(messages[type].fields).flatMap(([name, { decides }]) => (decides === false ? [name] : []))

test('status, ids and proof are read as sent, with any value in the fields that decide nothing', () => {
  const telling = fc.constantFrom('Y', 'N', '14', '1', null, '', undefined)
  const oddity = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string({ unit: anySign }), telling)
  const which = fc.constantFrom<['ARes' | 'RReq', string]>(
    ...statuses.map((s): ['ARes', string] => ['ARes', s]),
    ['RReq', 'Y'],
    ['RReq', 'A'],
    ['RReq', 'N'],
    ['RReq', 'U'],
    ['RReq', 'R'],
  )
  const odd = fc.dictionary(fc.integer({ min: 0, max: 30 }).map(String), oddity, { maxKeys: 5 })
  fc.assert(
    fc.property(which, odd, fc.boolean(), ([type, status], given, isMarked) => {
      const names = free(type)
      const changes = Object.entries(given).map(([at, value]): [string, unknown] => [names[Number(at) % names.length]!, value])
      const sent = about(type, status)
      const { read } = hear(type, (isMarked ? '\ufeff' : '') + JSON.stringify({ ...sent, ...Object.fromEntries(changes) }))
      const why = verdictOf(read)
      // Only a critical extension, and names of JavaScript's own, may refuse it.
      if (/^20[234]/.test(why) && changes.some(([, value]) => typeof value === 'object' && value !== null)) return
      assert.equal(why, 'ok', JSON.stringify(changes))
      for (const name of [
        'transStatus',
        'threeDSServerTransID',
        'acsTransID',
        'dsTransID',
        'authenticationValue',
        'messageVersion',
      ])
        assert.deepEqual(fieldsOf(read)[name], sent[name], name)
    }),
    { numRuns: 2_000 },
  )
})

test('an answer of 1.0.2 is exact only where it decides, and may have a byte order mark', () => {
  const read = (inside: string, mark = '') => {
    const xml = readXml(
      `${mark}<ThreeDSecure><Message id="m1"><VERes><version>1.0.2</version>${inside}</VERes></Message></ThreeDSecure>`,
    )
    assert.equal(xml.is, 'read')
    const opened = openMessage(xml.root)
    assert.equal(opened.is, 'message')
    const odd = new Set<string>()
    const { is, ...more } = readValues(opened.content[0]!, veres, odd)
    return [is === 'values' ? 'ok' : (more as { errorCode: string }).errorCode, [...odd].join()]
  }
  const no = '<CH><enrolled>N</enrolled></CH>'
  const enrolled = '<CH><enrolled>Y</enrolled><acctID>a</acctID></CH><url>https://acs.example/</url>'
  assert.deepEqual(read(`${no}<url></url>`, '\ufeff'), ['ok', 'VERes url unfit'])
  assert.deepEqual(read(`${no}<IReq><iReqCode>much too long</iReqCode></IReq>`), ['ok', 'VERes IReq/iReqCode unfit'])
  assert.deepEqual(read(`${enrolled}<protocol>ThreeDSecure</protocol><IReq><iReqCode/></IReq>`), [
    'ok',
    'VERes IReq/iReqCode unfit',
  ])
  assert.deepEqual(read(enrolled.replace('https:', 'ftp:')), ['5', ''])
  assert.deepEqual(read('<CH><enrolled>y</enrolled></CH>'), ['5', ''])
})

test('a name for issuers is transliterated, never a question mark', () => {
  // oxfmt-ignore
  const rows = [
    ['Łukasz', 'Lukasz'], ['Ørsted', 'Orsted'], ['Straße', 'Strasse'], ['Иван', 'Ivan'], ['李', 'Li'], ['ＡＮＮＡ　Ｏ’Ｈａｒａ', "ANNA O'Hara"],
    ['O’Hara', "O'Hara"], ['Æsir ıŞ', 'AEsir iS'], ['Γιώργος', 'Giorgos'], ['José', 'Jose'], ['Jose\u0301', 'Jose'], ['a\nb\u00a0c', 'a b c'],
    ['서울', 'SeoUl'], ['x'.repeat(50), 'x'.repeat(40)], ['\ue000', ''],
  ] as const
  for (const [name, plain] of rows) assert.equal(asciiText(name, 40).toLowerCase(), plain.toLowerCase(), name)
  const letters = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('?') && !text.includes('？'))
  fc.assert(fc.property(letters, (text) => assert.match(asciiText(text, 40), /^[\x20-\x7e]{0,40}$/)))
})
