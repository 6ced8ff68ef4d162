"""A second bill reader with Python's standard library; prints each line of a channel's file as JSON. Written from the documents
(opendocs.alipay.com "账单文件说明"; pay.weixin.qq.com "申请交易账单"; developer.paypal.com "Transaction event codes" and Transaction Search v1) and
from the meaning of a line in server/payments/outcomes.ts, not from our readers. Arguments: the channel and the file."""

import gzip
import io
import json
import re
import sys
import zipfile
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal

BEIJING = timezone(timedelta(hours=8))


def instant(text, zone):
    at = datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=zone)
    return stamp(at)


def stamp(at):
    return at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def minor(text, exponent=2):
    return str(int((Decimal(text).scaleb(exponent)).quantize(Decimal(1), ROUND_HALF_UP)))


def negated(text):
    return str(-int(text))


def tell(count, **line):
    print(json.dumps({"line": count, **line}, ensure_ascii=False))


def alipay(path):
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            # The names are GBK, but zipfile decodes them as code page 437 without the UTF-8 flag.
            names = {
                entry: entry.filename if entry.flag_bits & 0x800 else entry.filename.encode("cp437").decode("gbk")
                for entry in archive.infolist()
            }
            (details,) = [entry for entry, name in names.items() if "汇总" not in name]
            data = archive.read(details)
    else:
        with open(path, "rb") as file:
            data = file.read()
    lines = re.split("\r?\n", data.decode("gb18030"))
    names = [re.sub("[（(]元[)）]", "", name).strip() for name in lines[4].split(",")]
    count = 0
    for text in lines[5:]:
        if text.startswith("#"):
            break
        # The goods' name is between two fixed cells and may contain commas, as may the cells after the last amount.
        head, rest = text.split(",", 3)[:3], text.split(",", 3)[3]
        goods = re.match(r"(.*?),(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*,)", rest, re.S)
        cells = [*head, goods.group(1), *rest[goods.end() :].split(",")]
        row = dict(zip(names, (cell.strip() for cell in cells)))
        back = "退款" in row["业务类型"]
        amount = minor(row["订单金额"])
        count += 1
        tell(
            count,
            kind="refund" if back else "payment" if row["业务类型"] == "交易" else "other",
            event=row["业务类型"],
            orderNo=row["商户订单号"] or None,
            refundNo=(row["退款批次号/请求号"] or None) if back else None,
            channelTradeNo=row["支付宝交易号"] or None,
            channelRefundNo=None,
            currency="CNY",
            amount=negated(amount) if back else amount,
            discount=str(int(amount) - int(minor(row["商家实收"]))),
            fee=negated(minor(row["服务费"])),
            share=negated(minor(row["分润"])),
            at=instant(row["完成时间"] or row["创建时间"], BEIJING),
            raw=text,
        )


def wechat(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.GzipFile(fileobj=io.BytesIO(data)).read()
    lines = re.split("\r?\n", data.decode("utf-8-sig"))
    names = [name.strip().lstrip("`") for name in lines[0].split(",")]
    for count, text in enumerate(lines[1:], 1):
        if "总交易单数" in text:
            break
        cells = text.split(",`")
        cells[0] = cells[0][1:]
        # Shop texts (商品名称, 商户数据包) may contain the separator, so later columns are counted from the end.
        after = len(names) - names.index("商户数据包") - 1
        row = {**dict(zip(names, cells)), **dict(zip(names[-after:], cells[-after:]))}
        state = row["交易状态"]
        asked = minor(row["申请退款金额"])
        back = state == "REFUND" or (state == "REVOKED" and int(asked) > 0)
        failed = back and row["退款状态"] == "FAIL"
        kind = "other"
        if state == "SUCCESS":
            kind = "payment"
        elif back and not failed:
            kind = "refund" if row["退款状态"] == "SUCCESS" else "pending"
        # The moved amount (应结订单金额, 退款金额) and the requested amount (订单金额, 申请退款金额).
        over = {"payment": int(minor(row["订单金额"])), "other": 0}.get(kind, int(asked))
        moved = {"payment": int(minor(row["应结订单金额"])), "other": 0}.get(kind, int(minor(row["退款金额"])))

        def number(name):
            return row[name] if row[name] not in ("", "0") else None

        tell(
            count,
            kind=kind,
            event=f"{state} {row['退款状态']}" if back else state,
            orderNo=number("商户订单号"),
            refundNo=None if failed else number("商户退款单号"),
            channelTradeNo=number("微信订单号"),
            channelRefundNo=None if failed else number("微信退款单号"),
            currency=row["货币种类"],
            amount=str(over),
            discount=str(over - moved if kind == "payment" else moved - over),
            fee="0" if failed else minor(row["手续费"]),
            share="0",
            at=instant(row["交易时间"], BEIJING),
            raw=text,
        )


WITHOUT_DECIMALS = ("HUF", "JPY", "TWD")
RECEIVED = "T0000 T0002 T0003 T0004 T0005 T0006 T0007 T0010 T0011 T0012 T0013".split()
DISPUTED = "T1106 T1110 T1111 T1201 T1202 T1205 T1207 T1208".split()


def paypal(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for count, text in enumerate(lines[1:], 1):
        info = json.loads(text)
        if "end" in info:
            break
        code, status, money = info["transaction_event_code"], info["transaction_status"], info["transaction_amount"]
        currency = money["currency_code"]
        exponent = 0 if currency in WITHOUT_DECIMALS else 2
        moved = int(minor(money["value"], exponent))
        kept = -int(minor(info["fee_amount"]["value"], exponent)) if "fee_amount" in info else 0
        if status in "PDF":
            kind, moved, kept = "other", 0, 0
        elif code in RECEIVED:
            kind = "payment" if moved > 0 else "other"
        elif code == "T1107":
            kind = "refund" if moved < 0 and status == "S" else "other"
        elif code in DISPUTED:
            kind = "dispute"
        else:
            kind = "fee" if code[:3] == "T01" or code in ("T1108", "T1109") else "other"
        order, invoice = info.get("custom_field"), info.get("invoice_id")
        back = code == "T1107" and status != "D"
        if not back:
            order, invoice = order or invoice, None
        own = kind == "payment" or (kind == "other" and code[:3] == "T00")
        about = info.get("paypal_reference_id") if info.get("paypal_reference_id_type", "TXN") == "TXN" else None
        at = datetime.strptime(info["transaction_initiation_date"].replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S%z")
        tell(
            count,
            kind=kind,
            event=f"{code} {status}",
            orderNo=order,
            refundNo=invoice if invoice != order else None,
            channelTradeNo=info["transaction_id"] if own else about,
            channelRefundNo=info["transaction_id"] if back or kind == "dispute" else None,
            currency=currency,
            amount=str({"fee": 0, "refund": -moved}.get(kind, moved)),
            discount="0",
            share="0",
            fee=str(kept - moved if kind == "fee" else kept),
            at=stamp(at),
            raw=text,
        )


sys.stdout.reconfigure(encoding="utf-8", newline="\n")
{"alipay": alipay, "wechat": wechat, "paypal": paypal}[sys.argv[1]](sys.argv[2])
