/** The configuration of each program of the cluster; docs/cluster.md explains each setting. */
import { join } from 'node:path'
import { ttlS } from './plan.ts'
import type { Programs } from './programs.ts'

export const members = [1, 2, 3] as const
export type No = (typeof members)[number]

export interface Ports {
  etcd: Record<No, number>
  etcdPeers: Record<No, number>
  patroni: Record<No, number>
  postgres: Record<No, number>
  /** One HAProxy and one gateway for each of two machines. */
  proxies: readonly [number, number]
  gateways: readonly [number, number]
  operators: readonly [number, number]
}

export interface Passwords {
  superuser: string
  replication: string
  rewind: string
  owner: string
  gateway: string
}

/** The settings of the programs. */
export interface Layout {
  directory: string
  programs: Programs
  ports: Ports
  passwords: Passwords
  /** By which Patroni speaks to etcd. */
  api: 'etcd' | 'etcd3'
}

const host = '127.0.0.1'

export function etcdArguments(no: No, { ports: { etcd, etcdPeers }, api, directory }: Layout): string[] {
  const peers = members.map((one) => `etcd${one}=http://${host}:${etcdPeers[one]}`).join(',')
  return [
    `--name=etcd${no}`,
    `--data-dir=${join(directory, `etcd${no}`)}`,
    `--listen-client-urls=http://${host}:${etcd[no]}`,
    `--advertise-client-urls=http://${host}:${etcd[no]}`,
    `--listen-peer-urls=http://${host}:${etcdPeers[no]}`,
    `--initial-advertise-peer-urls=http://${host}:${etcdPeers[no]}`,
    `--initial-cluster=${peers}`,
    '--initial-cluster-state=new',
    '--logger=zap',
    ...(api === 'etcd' ? ['--enable-v2=true'] : []),
  ]
}

/** JSON is YAML, and quotes what has to be quoted. */
export function patroniConfig(no: No, { ports, passwords, programs, api, directory }: Layout): string {
  const own = join(directory, `pg${no}`)
  const config = {
    scope: 'tollgate',
    name: `pg${no}`,
    restapi: { listen: `${host}:${ports.patroni[no]}`, connect_address: `${host}:${ports.patroni[no]}` },
    [api]: { hosts: members.map((one) => `${host}:${ports.etcd[one]}`) },
    bootstrap: {
      dcs: {
        ttl: ttlS,
        loop_wait: 1,
        retry_timeout: 5,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        primary_start_timeout: 0,
        primary_stop_timeout: 5,
        failsafe_mode: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            max_connections: 100,
            wal_retrieve_retry_interval: '500ms',
            wal_sender_timeout: '5s',
            wal_receiver_timeout: '5s',
            wal_keep_size: '256MB',
            tcp_keepalives_idle: 5,
            tcp_keepalives_interval: 2,
            tcp_keepalives_count: 3,
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
    },
    postgresql: {
      listen: `${host}:${ports.postgres[no]}`,
      connect_address: `${host}:${ports.postgres[no]}`,
      data_dir: join(own, 'data'),
      bin_dir: programs.postgres,
      pgpass: join(own, 'pgpass'),
      parameters: { unix_socket_directories: own },
      pg_hba: [`host replication replicator ${host}/32 scram-sha-256`, `host all all ${host}/32 scram-sha-256`],
      authentication: {
        superuser: { username: 'postgres', password: passwords.superuser },
        replication: { username: 'replicator', password: passwords.replication },
        rewind: { username: 'rewinder', password: passwords.rewind },
      },
    },
  }
  return JSON.stringify(config, null, 2)
}

/** The proxy of a gateway leads to the one member whose Patroni says it is primary. */
export function proxyConfig(port: number, { postgres, patroni }: Ports): string {
  const servers = members.map((no) => `  server pg${no} ${host}:${postgres[no]} check port ${patroni[no]}`)
  return `global
  maxconn 1000
defaults
  mode tcp
  timeout connect 2s
  timeout client 24h
  timeout server 24h
  timeout check 2s
listen tollgate
  bind ${host}:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  option clitcpka
  option srvtcpka
  default-server inter 1s fastinter 500ms downinter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`
}
