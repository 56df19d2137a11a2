/**
 * The only way to write to the audit trail without owning it. Roles that may read the trail may
 * call `audit_append`, but cannot choose number, hash, time or database user of the row.
 * *Rejected:* a grant to insert, by which readers write rows of any time.
 */
import { roles } from './grants.ts'

/** Names the encoding of the rows that `audit_append` writes; audit-chain.ts computes it too. */
export const auditTitle = 'tollgate audit 1'

const writers = [roles.operator, roles.read, roles.retention].join(', ')
/** Nothing that a caller made may stand in for what a function names. */
const asOwner = 'language sql volatile security definer set search_path = pg_catalog, pg_temp'

/** The statements that make them in the schema of an installation. Its names are qualified. */
export const auditFunctions = (schema: string): string[] => [
  `create or replace function ${schema}.audit_hold() returns bigint ${asOwner} as $$
    select no from ${schema}.audit_head where only_row for update $$`,
  `create or replace function ${schema}.audit_append(who text, action text, subject text, details jsonb) returns bigint
  ${asOwner} as $$
    select no from ${schema}.audit_head where only_row for update;
    with head as materialized (
      select no + 1 as no, hash, clock_timestamp() as at, replace(gen_random_uuid()::text, '-', '') as random
      from ${schema}.audit_head where only_row
    ), made as materialized (
      select no, hash, at, (extract(epoch from at) * 1000000)::bigint::text as micros,
        (lpad(to_hex((extract(epoch from date_trunc('milliseconds', at)) * 1000)::bigint), 12, '0')
          || '7' || substr(random, 14))::uuid as id
      from head
    )
    insert into ${schema}.audit (audit_id, at, who, action, subject, details, no, session, hash)
    select id, at, $1, $2, $3, $4, no, session_user, sha256(hash || (
      select string_agg(int4send(octet_length(bytes)) || bytes, '\\x'::bytea order by nth)
      from unnest(array['${auditTitle}', no::text, id::text, micros, session_user::text, $1, $2, $3, $4::text])
        with ordinality as field (written, nth), lateral (select convert_to(written, 'UTF8') as bytes) as encoded))
    from made;
    update ${schema}.audit_head h set no = a.no, hash = a.hash
    from ${schema}.audit a where h.only_row and a.no = h.no + 1 returning h.no $$`,
  `revoke all on function ${schema}.audit_hold(), ${schema}.audit_append(text, text, text, jsonb)
  from public, ${Object.values(roles).join(', ')}`,
  `grant execute on function ${schema}.audit_hold(), ${schema}.audit_append(text, text, text, jsonb) to ${writers}`,
]
