import type { ServerTraces } from './process.ts'

/** The inputs for the settings of a server. */
export interface SettingsFor {
  version: string
  major: number
  clusterName: ServerTraces['clusterName']
  /** False only for a throw-away cluster of the tests: a loss of power may destroy it. */
  durable: boolean
  /** The operator's own settings, which take precedence. */
  own: Record<string, string>
  platform: NodeJS.Platform
}

type Row = [name: string, value: string, reason: string]

// oxfmt-ignore
const always: Row[] = [
  ['listen_addresses',                    '127.0.0.1', 'no other machine may connect'],
  ['unix_socket_directories',             '',          'one way in, with a password; a socket file has a length limit and may be left over'],
  ['password_encryption',                 'scram-sha-256', 'also for roles that an operator adds'],
  ['max_connections',                     '60',        'the pools of a gateway take about 20; the rest is for the console, backups and a second process'],
  ['shared_buffers',                      '128MB',     'the open orders and the upper index pages; the kernel caches the rest'],
  ['huge_pages',                          'off',       '128 MB gain nothing by them, and asking for them fails on some hosts'],
  ['work_mem',                            '8MB',       'statements touch a few hundred rows; only reports sort'],
  ['maintenance_work_mem',                '64MB',      'enough for vacuum of tables that are partitioned'],
  ['effective_cache_size',                '1GB',       'what a small machine can be expected to cache'],
  ['random_page_cost',                    '1.1',       'solid-state disks: reading through an index costs what a scan does'],
  ['jit',                                 'off',       'compiling takes longer than any statement of ours runs'],
  ['max_parallel_workers_per_gather',     '0',         'a report must not take both cores from the payments'],
  ['max_wal_size',                        '1GB',       'room between checkpoints, and a bound on recovery after a crash: some ten seconds'],
  ['min_wal_size',                        '160MB',     'segments are used again instead of created under load'],
  ['checkpoint_timeout',                  '15min',     'fewer checkpoints, fewer full page images'],
  ['checkpoint_completion_target',        '0.9',       'written evenly, not in one burst that payments wait for'],
  ['wal_compression',                     'on',        'full page images shrink to a fraction; pglz is in every build'],
  ['autovacuum_naptime',                  '10s',       'a new table has its first statistics soon: plans without them cost 3 to 5 times'],
  ['autovacuum_vacuum_scale_factor',      '0.05',      'rows of orders change several times within seconds'],
  ['autovacuum_analyze_scale_factor',     '0.05',      'the same'],
  ['idle_in_transaction_session_timeout', '60s',       'no transaction is open while anything outside is called; one that is forgotten would hold vacuum back'],
  ['timezone',                            'UTC',       'times are stored and compared, never shown, here'],
  ['log_timezone',                        'UTC',       'as the log of the gateway'],
  ['log_error_verbosity',                 'terse',     'the detail of a broken constraint repeats the row; the gateway gets it, the file does not'],
  ['log_min_error_statement',             'panic',     'statements do not belong in a file either'],
  ['log_checkpoints',                     'off',       'only what asks for attention'],
]

// oxfmt-ignore
const durable: Row[] = [
  ['fsync',                               'on',        'a payment that was acknowledged is on the disk'],
  ['synchronous_commit',                  'on',        'the same'],
  ['full_page_writes',                    'on',        'a page that was half written when the power went is repaired'],
  ['wal_level',                           'replica',   'a base backup or a standby can be taken without a restart'],
  ['max_wal_senders',                     '4',         'for these'],
]

// oxfmt-ignore
const throwAway: Row[] = [
  ['fsync',                               'off',       'thrown away after the tests'],
  ['synchronous_commit',                  'off',       'the same'],
  ['full_page_writes',                    'off',       'the same'],
  ['wal_level',                           'minimal',   'less to write'],
  ['max_wal_senders',                     '0',         'minimal asks for it'],
]

/** macOS lets an ordinary fsync return before the drive has written. */
const macOs: Row[] = [['wal_sync_method', 'fsync_writethrough', 'the only method here that reaches the disk itself']]

/** The text of postgresql.conf. A live server whose text differs is restarted, not adopted. */
export function settingsFile({ version, major, clusterName, durable: lasting, own, platform }: SettingsFor): string {
  const rows: Row[] = [
    ['cluster_name', clusterName, 'shown by every process, so that what a dead server left running is recognised'],
    ...always,
    ...(lasting ? durable : throwAway),
    ...(lasting && platform === 'darwin' ? macOs : []),
    ...(major >= 18
      ? [['io_method', 'sync', 'the data is cached; three processes for reading ahead would idle'] satisfies Row]
      : []),
    ...Object.entries(own).map(([name, value]): Row => [name, value, 'set by the operator']),
  ]
  return [
    `# PostgreSQL ${version}. Written by Tollgate at each start: a change made here is lost. ` +
      'The port is given on the command line.',
    ...rows.map(([name, value, reason]) => `\n# ${reason}\n${name} = '${value.replaceAll("'", "''")}'`),
    '',
  ].join('\n')
}
