import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { movedTables, stayingTables } from '../../../src/operator/cells/merchant-rows.ts'
import { cellTables, grants } from '../../../src/storage/grants.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing } from '../../harness/world/opening.ts'

// Each table has its place: in grants, in moves of merchants, in partitions, in what is erased of a
// person, and in the check of a backup. A new table has to be thought of in each.

const { url } = closing(await migratedDatabase())
const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = closing(openPool({ url, connections: 1, use: 'admin', log }))
const tables = await pool.run<{ name: string; kind: string; columns: string[] }>({
  name: '',
  text: `select c.relname as name, c.relkind::text as kind, array_agg(a.attname::text) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    group by c.relname, c.relkind order by c.relname`,
})
const named = (which: (one: (typeof tables)[number]) => boolean) => tables.filter(which).map(({ name }) => name)
const source = (folder: string) =>
  readdirSync(join(import.meta.dirname, '../../../../src', folder))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(import.meta.dirname, '../../../../src', folder, file), 'utf8'))
    .join('\n')

test('each table has its row of grants', () => {
  assert.deepEqual(
    named(({ name }) => !(name in grants)),
    [],
  )
})

test('each table of a cell with rows of merchants moves with them, or stays for a reason', () => {
  const ofMerchants = named(({ name, columns }) => cellTables.includes(name) && columns.includes('merchant_id'))
  assert.deepEqual(ofMerchants, [...movedTables, ...stayingTables.filter((name) => ofMerchants.includes(name))].toSorted())
})

/** They grow with orders in a small part, or are emptied. */
const whole = new Set([
  'delivery',
  'mobile_invoice',
  'order_key',
  'idempotency_key',
  'request',
  'card_reference',
  'card_number_ref',
  'locator',
])

test('each table that grows with every order is in partitions', () => {
  const ofOrders = named(({ columns }) => columns.includes('order_id'))
  const inPartitions = named(({ kind }) => kind === 'p')
  assert.deepEqual(
    ofOrders.filter((name) => !inPartitions.includes(name) && !whole.has(name)),
    [],
  )
})

/** Nothing in them tells of a person who pays, or it is gone by itself. */
const tellsOfNobody = [
  'access_refused',
  'attempt',
  'audit',
  'audit_head',
  'bin_range',
  'card_range',
  'cell',
  'config_version',
  'directory_oddity',
  'directory_state',
  'duty',
  'endpoint',
  'endpoint_group',
  'filter_count',
  'filter_entry',
  'filter_rule',
  'gate',
  'heartbeat',
  'hour_count',
  'id_block',
  'idempotency_key',
  'key_version',
  'locator',
  'merchant',
  'merchant_key',
  'merchant_move',
  'merchant_mover',
  'migration',
  'minute_count',
  'nonce',
  'operator_challenge',
  'operator_factor',
  'operator_failure',
  'operator_request',
  'operator_session',
  'operator_token',
  'operator_user',
  'operator_view',
  'proposal',
  'proposal_rules',
  'order_event',
  'order_key',
  'peer',
  'request',
  'resealing',
  'wrong_sum',
  'card_number_ref',
]

test('each table is erased by retention, or has no personal data', () => {
  const erased = named(({ name }) => /[wd]/.test(grants[name]!.retention.replaceAll(/r\([^)]*\)/g, 'r')))
  assert.deepEqual(
    [...erased, ...tellsOfNobody].toSorted(),
    named(() => true),
  )
})

/** Nothing says what a copy should have of them. */
const unchecked = new Set([
  'access_refused',
  'bin_range',
  'card_number_ref',
  'card_range',
  'card_reference',
  'config_version',
  'delivery_attempt',
  'directory_oddity',
  'directory_state',
  'duty',
  'filter_count',
  'filter_entry',
  'filter_rule',
  'hour_count',
  'idempotency_key',
  'locator',
  'merchant_key',
  'merchant_move',
  'merchant_mover',
  'minute_count',
  'nonce',
  'operator_challenge',
  'operator_failure',
  'operator_request',
  'operator_view',
  'order_facts',
  'peer',
  'proposal_rules',
  'request',
  'resealing',
  'setting_change',
  'wrong_sum',
])

test('the check of a backup reads each table, or has nothing to compare it with', () => {
  const sql = source('operator/doctor') + source('operator/audit') + source('storage') + source('keys')
  const isRead = (name: string) => new RegExp(`(?:from|join|select) (?:all_)?${name}s?\\b`).test(sql)
  assert.deepEqual(
    named(({ name }) => !unchecked.has(name) && !isRead(name)),
    [],
  )
})
