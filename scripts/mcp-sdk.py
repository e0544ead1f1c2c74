"""A journey of the official Python SDK of MCP, unchanged. scripts/mcp-sdks.mjs starts it and is its browser: this prints
the address to open, and reads the address to which the browser was sent back.

    python mcp-sdk.py '{"server": "…", "metadata": {…}, "documentUrl": null, "client": null}'
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

asked = json.loads(sys.argv[1])


class Storage:
    tokens: OAuthToken | None = None
    client = None if asked["client"] is None else OAuthClientInformationFull(**asked["client"])

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def open_browser(url):
    print(url, flush=True)


async def sent_back():
    [code], [state], [iss] = map(parse_qs(urlsplit(sys.stdin.readline()).query).get, ("code", "state", "iss"))
    return AuthorizationCodeResult(code=code, state=state, iss=iss)


async def main():
    storage = Storage()
    auth = OAuthClientProvider(
        asked["server"],
        OAuthClientMetadata(**asked["metadata"]),
        storage,
        open_browser,
        sent_back,
        client_metadata_url=asked["documentUrl"],
    )
    async with httpx2.AsyncClient(auth=auth) as http:
        async with Client(streamable_http_client(asked["server"], http_client=http)) as client:
            assert len((await client.list_tools()).tools) == 2
            await client.call_tool("list_notes", {})
            if asked["client"] is None:
                first = storage.tokens.access_token
                auth.context.token_expiry_time = 1
                await client.call_tool("list_notes", {})
                assert storage.tokens.access_token != first, "it refreshed"
            added = await client.call_tool("add_note", {"text": "milk"})
            assert added.content[0].text == "added"
            assert "notes:write" in storage.tokens.scope


asyncio.run(main())
