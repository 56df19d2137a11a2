/**
 * The files that may touch the world: sockets, processes, files, name servers, the database. All
 * else is data in, data out. The sandbox and the command line may, as a whole.
 */
export const worldly: ReadonlySet<string> = new Set([
  'src/acquirer/iso8583/link.ts',
  'src/acquirer/iso8583/transport.ts',
  'src/base/hold-open.ts',
  'src/embedded/binaries.ts',
  'src/embedded/cluster.ts',
  'src/embedded/lock.ts',
  'src/embedded/data-directory.ts',
  'src/embedded/process.ts',
  'src/embedded/server.ts',
  'src/embedded/start.ts',
  'src/gateway/peers/link.ts',
  'src/http/asset.ts',
  'src/http/intake.ts',
  'src/http/listeners.ts',
  'src/http/listening.ts',
  'src/http/outgoing.ts',
  'src/http/server.ts',
  'src/keys/hour-key-files.ts',
  'src/keys/service.ts',
  'src/leases/heart-start.ts',
  'src/leases/heart-thread.ts',
  'src/operator/doctor/machine.ts',
  'src/operator/partitions/files.ts',
  'src/processes/cluster.ts',
  'src/processes/slot.ts',
  'src/processes/supervisor.ts',
  'src/settings/keys.ts',
  'src/settings/three-d-secure.ts',
  'src/settings/tls.ts',
  'src/storage/migrate.ts',
  'src/storage/pool.ts',
  'src/three-d-secure/inbound.ts',
])
export const worldlyRooms = /^src\/(?:sandbox|cli)\//
