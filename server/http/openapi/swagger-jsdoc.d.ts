declare module 'swagger-jsdoc' {
  /** Reads `@openapi` comments of the files that match `apis` into an OpenAPI document. */
  export default function swaggerJsdoc(options: {
    failOnErrors?: boolean;
    definition: Record<string, unknown>;
    apis: readonly string[];
  }): Record<string, unknown>;
}
