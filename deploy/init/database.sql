-- Once, as a superuser of PostgreSQL. The server gets a verifier, and never sees the password.
create role tollgate_owner login createrole password '{VERIFIER}';
create database {DATABASE} owner tollgate_owner;
revoke temporary on database {DATABASE} from public;
