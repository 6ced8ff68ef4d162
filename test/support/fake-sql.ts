import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely';

const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** A transaction's `sql` (server/db/store.ts) whose statements are answered here instead of by a database. */
export function fakeSql(answer: (text: string, values: readonly unknown[]) => object[] | Promise<object[]>) {
  return async <T>(text: TemplateStringsArray, ...values: readonly unknown[]): Promise<T[]> => {
    const statement = sql(text, ...values).compile(compiler);
    return (await answer(statement.sql, statement.parameters)) as T[];
  };
}
