import type { Certs } from '../../credentials/certs.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import {
  ByCertId,
  CertFilter,
  Certificate,
  CertUploadBody,
  downloadOf,
  InProject,
  MaybeInProject,
  presentCert,
  uploadOf,
  wholePage,
} from '../wire/credentials.ts';
import { actorOf } from '../wire/identity.ts';

/** Certificates and keys of every project. */
export function certRoutes({ certs, now }: { certs: Certs; now: () => Date }): RouteGroup {
  const router = routeGroup('/api/v1/certs');

  /**
   * @openapi
   * /api/v1/certs/upload:
   *   post:
   *     tags: [Certificates]
   *     summary: Upload a certificate or key
   *     description: >
   *       As a file or as text, at most 64 KB; PEM, a DER certificate, or the bare base64 of Alipay's key tool. The first of its kind
   *       becomes the default if its other half fits. Private keys never leave again.
   */
  router.post(
    '/upload',
    endpoint(
      {
        auth: { admin: 'admin' },
        accepts: ['multipart', 'json'],
        query: InProject,
        body: CertUploadBody,
        returns: Certificate,
        status: 201,
        errors: ['certificate_exists', 'configuration_broken'],
      },
      async ({ query, body, caller, request }) =>
        presentCert(
          await certs.upload({ actor: actorOf(caller, request), project: query.project }, uploadOf(body)),
          now(),
        ),
    ),
  );

  /**
   * @openapi
   * /api/v1/certs/list:
   *   post:
   *     tags: [Certificates]
   *     summary: List certificates and keys
   *     description: Newest first, with the days that are left; only public facts.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { payWay: wechat }
   */
  router.post(
    '/list',
    endpoint(
      { auth: { admin: 'viewer' }, query: InProject, body: CertFilter, returns: Certificate, list: true },
      async ({ query, body }) => {
        const rows = await certs.list(query.project, body ?? {});
        return wholePage(rows.map((row) => presentCert(row, now())));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/certs/{id}/default:
   *   post:
   *     tags: [Certificates]
   *     summary: Make a certificate the default of its kind
   *     description: >
   *       The default signs and verifies. The other half of a pair changes with it; when none that fits was uploaded, 409. The
   *       configuration gets a new version as soon as its set of certificates is complete.
   */
  router.post(
    '/:id/default',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: ByCertId,
        query: MaybeInProject,
        returns: Certificate,
        errors: ['certificate_pair_mismatch', 'certificate_unusable', 'configuration_broken'],
      },
      async ({ params, query, caller, request }) =>
        presentCert(
          await certs.makeDefault({ actor: actorOf(caller, request), project: query.project }, params.id),
          now(),
        ),
    ),
  );

  /**
   * @openapi
   * /api/v1/certs/{id}/delete:
   *   post:
   *     tags: [Certificates]
   *     summary: Delete a certificate or key
   *     description: Refused for a default and for one that orders in flight need.
   */
  router.post(
    '/:id/delete',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: ByCertId,
        query: MaybeInProject,
        returns: Certificate,
        errors: ['in_use', 'certificate_unusable', 'configuration_broken'],
      },
      async ({ params, query, caller, request }) =>
        presentCert(await certs.remove({ actor: actorOf(caller, request), project: query.project }, params.id), now()),
    ),
  );

  /**
   * @openapi
   * /api/v1/certs/{id}/download:
   *   post:
   *     tags: [Certificates]
   *     summary: Download the public part
   *     description: The certificate, or the public key of a key, as a PEM file. There is no way to a private key.
   */
  router.post(
    '/:id/download',
    endpoint(
      { auth: { admin: 'viewer' }, params: ByCertId, query: MaybeInProject, raw: 'stream' },
      async ({ params, query }) => downloadOf(await certs.find(query.project, params.id)),
    ),
  );
  return router;
}
