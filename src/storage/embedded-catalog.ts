/**
 * What a database consists of besides its rows, as the statements that make it again. PostgreSQL's
 * catalogs say it themselves: each query returns statements, in the order in which to run them. The
 * packaged PostgreSQL has no pg_dump. The search path must be empty, so that PostgreSQL qualifies
 * every name. The same lists, read from the copy, show whether it is complete.
 */
export interface Part {
  what: string
  /** Returns rows with the column `sql`. */
  query: string
}

const own = (schema: string) => `${schema}.nspname !~ '^pg_' and ${schema}.nspname <> 'information_schema'`
const relations = `pg_class c join pg_namespace n on n.oid = c.relnamespace and ${own('n')}`
const owner = (column: string) => `pg_get_userbyid(${column})`
const yes = (column: string) => `case when ${column} then 'true' else 'false' end`
const or = (column: string, word: string) => `case when ${column} then '${word}' else 'no${word}' end`
const storage = `case when c.reloptions is not null then format(' with (%s)', array_to_string(c.reloptions, ', ')) end`
/** The number of the role that initdb makes; it is ours, and the copy has it already. */
const first = 10

const identity = `
  select format(' generated %s as identity (sequence name %s start %s increment %s minvalue %s maxvalue %s cache %s%s)',
    case a.attidentity when 'a' then 'always' else 'by default' end, q.seqrelid::regclass,
    q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcache, case when q.seqcycle then ' cycle' end)
  from pg_depend i join pg_sequence q on q.seqrelid = i.objid
  where i.classid = 'pg_class'::regclass and i.refobjid = a.attrelid and i.refobjsubid = a.attnum and i.deptype = 'i'`

const columns = `
  select string_agg(concat(quote_ident(a.attname), ' ', format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation end,
    case when a.attnotnull then ' not null' end,
    case when a.attgenerated = 's' then format(' generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
      else ' default ' || pg_get_expr(d.adbin, d.adrelid) end,
    case when a.attidentity <> '' then (${identity}) end), ', ' order by a.attnum)
  from pg_attribute a join pg_type t on t.oid = a.atttypid
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped`

/** One line for what was taken away from the owner and from everybody, then one for each grant. */
const granted = (acl: string, on: string, ownedBy: string, of: string) => `
  select format('revoke all on ${on} from public, %I', ${of}, ${owner(ownedBy)}) as sql, 0 as rank
  from from_here where ${acl} is not null
  union all
  select format('grant %s on ${on} to %s%s', string_agg(x.privilege_type, ', ' order by x.privilege_type), ${of},
    case x.grantee when 0 then 'public' else quote_ident(${owner('x.grantee')}) end,
    case when x.is_grantable then ' with grant option' end), 1
  from from_here, aclexplode(${acl}) x group by ${of}, x.grantee, x.is_grantable`

/** Before the rows. Roles, schemas and tables come first, since the rest refers to them. */
export const before: readonly Part[] = [
  {
    what: 'roles',
    query: `
      select format('create role %I with %s', rolname, concat_ws(' ', ${or('rolsuper', 'superuser')},
        ${or('rolinherit', 'inherit')}, ${or('rolcreaterole', 'createrole')},
        ${or('rolcreatedb', 'createdb')}, ${or('rolcanlogin', 'login')},
        ${or('rolreplication', 'replication')}, ${or('rolbypassrls', 'bypassrls')}, 'connection limit ' || rolconnlimit,
        'password ' || quote_literal(rolpassword), 'valid until ' || quote_literal(rolvaliduntil))) as sql
      from pg_authid where rolname !~ '^pg_' and oid <> ${first} order by rolname`,
  },
  {
    what: 'members of roles',
    query: `
      select distinct format('grant %I to %I with admin %s, inherit %s, set %s', ${owner('roleid')}, ${owner('member')},
        ${yes('admin_option')}, ${yes('inherit_option')}, ${yes('set_option')}) as sql
      from pg_auth_members where ${owner('member')} !~ '^pg_' order by sql`,
  },
  {
    what: 'settings of roles',
    query: `
      select concat('alter ', case when s.setrole = 0 then format('database %I', d.datname)
          else format('role %I', ${owner('s.setrole')}) end,
        case when s.setrole <> 0 and s.setdatabase <> 0 then format(' in database %I', d.datname) end,
        format(' set %s to %s', split_part(c, '=', 1),
          case when split_part(c, '=', 1) ~ '^(search_path|temp_tablespaces|.*_preload_libraries)$'
            then substr(c, strpos(c, '=') + 1) else quote_literal(substr(c, strpos(c, '=') + 1)) end)) as sql
      from pg_db_role_setting s left join pg_database d on d.oid = s.setdatabase, unnest(s.setconfig) c order by sql`,
  },
  {
    what: 'schemas',
    query: `
      select format('create schema if not exists %I', n.nspname) as sql, 0 as rank from pg_namespace n where ${own('n')}
      union all select format('alter schema %I owner to %I', n.nspname, ${owner('n.nspowner')}), 1
      from pg_namespace n where ${own('n')}
      order by rank, sql`,
  },
  {
    what: 'tables',
    query: `
      select concat(format('create table %s (%s)', c.oid::regclass, (${columns})),
        ' partition by ' || pg_get_partkeydef(c.oid), ${storage}) as sql
      from ${relations} where c.relkind in ('r', 'p') and not c.relispartition order by sql`,
  },
  {
    what: 'partitions',
    query: `
      select concat(format('create table %s partition of %s %s', c.oid::regclass, i.inhparent::regclass,
        pg_get_expr(c.relpartbound, c.oid)), ${storage}) as sql
      from ${relations} join pg_inherits i on i.inhrelid = c.oid where c.relkind = 'r' and c.relispartition order by sql`,
  },
]

/** After the rows, which come in faster without indexes. A reference needs a unique key. */
export const after: readonly Part[] = [
  {
    what: 'constraints',
    query: `
      select format('alter table %s add constraint %I %s', c.oid::regclass, k.conname, pg_get_constraintdef(k.oid)) as sql
      from pg_constraint k join ${relations} on c.oid = k.conrelid
      where k.conparentid = 0 and k.contype <> 'n' and (not c.relispartition or (k.conislocal and k.coninhcount = 0))
      order by position(k.contype::text in 'puxcf'), sql`,
  },
  {
    what: 'indexes',
    query: `
      select replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') as sql
      from pg_index i join ${relations} on c.oid = i.indrelid
      where not exists (select from pg_constraint k where k.conindid = i.indexrelid)
        and not exists (select from pg_inherits h where h.inhrelid = i.indexrelid) order by sql`,
  },
  {
    what: 'replica identities',
    query: `
      select format('alter table %s replica identity full', c.oid::regclass) as sql
      from ${relations} where c.relkind in ('r', 'p') and c.relreplident = 'f' order by sql`,
  },
  {
    what: 'next values of sequences',
    query: `
      select format('select setval(%L, %s, %s)', format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value),
        ${yes('last_value is not null')}) as sql
      from pg_sequences order by sql`,
  },
  {
    what: 'views',
    query: `
      select format('create view %s as %s', c.oid::regclass, pg_get_viewdef(c.oid)) as sql
      from ${relations} where c.relkind = 'v' order by c.oid`,
  },
  {
    what: 'comments',
    query: `
      select case when d.objsubid = 0
          then format('comment on %s %s is %L', case c.relkind when 'v' then 'view' else 'table' end,
            c.oid::regclass, d.description)
        else format('comment on column %s.%I is %L', c.oid::regclass, a.attname, d.description) end as sql
      from pg_description d join ${relations} on c.oid = d.objoid and c.relkind in ('r', 'p', 'v')
      left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid
      where d.classoid = 'pg_class'::regclass order by sql`,
  },
  {
    what: 'owners',
    query: `
      select format('alter table %s owner to %I', c.oid::regclass, ${owner('c.relowner')}) as sql
      from ${relations} where c.relkind in ('r', 'p', 'v') and c.relowner <> ${first} order by sql`,
  },
  {
    what: 'privileges on tables',
    query: `
      with from_here as (
        select c.relacl, c.relowner, case c.relkind when 'S' then 'sequence ' else 'table ' end || c.oid::regclass as name
        from ${relations} where c.relkind in ('r', 'p', 'v', 'S'))
      select * from (${granted('relacl', '%s', 'relowner', 'name')}) g order by rank, sql`,
  },
  {
    what: 'privileges on columns',
    query: `
      select format('grant %s (%I) on %s to %s%s', x.privilege_type, a.attname, c.oid::regclass,
        case x.grantee when 0 then 'public' else quote_ident(${owner('x.grantee')}) end,
        case when x.is_grantable then ' with grant option' end) as sql
      from ${relations} join pg_attribute a on a.attrelid = c.oid, aclexplode(a.attacl) x order by sql`,
  },
  {
    what: 'privileges on schemas',
    query: `
      with from_here as (select nspacl, nspowner, nspname from pg_namespace n where ${own('n')})
      select * from (${granted('nspacl', 'schema %I', 'nspowner', 'nspname')}) g order by rank, sql`,
  },
  {
    what: 'privileges on the database',
    query: `
      with from_here as (select datacl, datdba, datname from pg_database where datname = current_database())
      select * from (${granted('datacl', 'database %I', 'datdba', 'datname')}) g order by rank, sql`,
  },
]

/**
 * Everything else that a database may hold, as column `what`. Tollgate makes none of it, but for
 * the functions that each `migrate` makes anew (audit-functions.ts). A copy that left some out and
 * said nothing would be worse than none.
 */
export const others = `
  select format('%s (a relation of kind %s)', c.oid::regclass, c.relkind) as what from ${relations}
  where c.relkind not in ('r', 'p', 'i', 'I', 'v', 'S')
  union all select format('%s (a sequence of its own)', c.oid::regclass) from ${relations} where c.relkind = 'S'
    and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i')
  union all select format('%s (its storage)', c.oid::regclass) from ${relations}
  where c.relpersistence <> 'p' or c.reltablespace <> 0 or c.reloftype <> 0 or c.relreplident not in ('d', 'n', 'f')
    or c.relrowsecurity or (c.relkind = 'v' and c.reloptions is not null) or (c.relkind = 'p' and c.relispartition)
  union all select format('%s (inherits from %s)', h.inhrelid::regclass, h.inhparent::regclass)
  from pg_inherits h join ${relations} on c.oid = h.inhrelid
  where h.inhdetachpending or (c.relkind = 'r' and not c.relispartition)
  union all select format('%s (options of the index of a constraint)', i.oid::regclass)
  from pg_constraint k join pg_class i on i.oid = k.conindid join ${relations} on c.oid = k.conrelid
  where i.reloptions is not null and k.contype in ('p', 'u', 'x')
  union all select format('%s.%I (how the column is stored)', c.oid::regclass, a.attname)
  from pg_attribute a join pg_type t on t.oid = a.atttypid join ${relations} on c.oid = a.attrelid
  where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p')
    and (a.attstorage <> t.typstorage or a.attcompression <> '' or coalesce(a.attstattarget, -1) <> -1 or a.attoptions is not null
      or a.attgenerated not in ('', 's'))
  union all select format('%s (a function)', p.oid::regprocedure)
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace and ${own('n')}
  where p.proname not in ('audit_hold', 'audit_append')
  union all select format('%s (a type)', t.oid::regtype)
  from pg_type t join pg_namespace n on n.oid = t.typnamespace and ${own('n')} where t.typtype in ('d', 'e', 'r', 'm')
  union all select format('%I (an extension)', extname) from pg_extension where extname <> 'plpgsql'
  union all select format('%I on %s (a trigger)', tgname, tgrelid::regclass) from pg_trigger where not tgisinternal
  union all select format('%I (a trigger of events)', evtname) from pg_event_trigger
  union all select format('%I on %s (a rule)', rulename, ev_class::regclass) from pg_rewrite join ${relations} on c.oid = ev_class
  where rulename <> '_RETURN'
  union all select format('%I (statistics)', stxname) from pg_statistic_ext
  union all select format('%I (a publication)', pubname) from pg_publication
  union all select format('%I (a foreign server)', srvname) from pg_foreign_server
  union all select format('%s (a large object)', oid) from pg_largeobject_metadata
  union all select format('default privileges of %I', ${owner('defaclrole')}) from pg_default_acl
  union all select format('%I (a database)', datname) from pg_database
  where datname not in ('postgres', 'template0', 'template1', current_database())`

/** The tables that have rows of their own, and the names of their columns. */
export const tablesWithRows = `
  select c.oid::regclass::text as name, pg_table_size(c.oid)::float8 as bytes,
    array_agg(quote_ident(a.attname) order by a.attname) as compared,
    array_agg(quote_ident(a.attname) order by a.attnum) filter (where a.attgenerated = '') as copied
  from ${relations} join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind = 'r' group by c.oid order by name`
