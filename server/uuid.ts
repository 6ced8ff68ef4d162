/** Ids as the service writes them: another text is refused before PostgreSQL would take it for a fault. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
