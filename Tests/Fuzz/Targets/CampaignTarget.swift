// SPDX-License-Identifier: Apache-2.0
import Contract
import Records

extension FuzzTarget {
  /// A campaign that somebody starts over HTTP: what is read and written again is the same, how it stands can be told, a
  /// request of it that was checked is one for ingest; a refusal has words.
  static func campaign() -> FuzzTarget {
    let (parser, reader) = (JSONParser(), RequestReader(types: .any, lanes: .any))
    let token = Array("\"\(String(repeating: "ab", count: 32))\"".utf8)
    return FuzzTarget("campaign") { bytes in
      do throws(RecordError) {
        let campaign = try CampaignRecord(
          json: bytes, at: HostileRecord.now, by: "key a", parser: parser)
        let again = campaign.value
        let read = again.withUnsafeBytes { try? CampaignRecord($0, parser: parser) }
        // Shares are written in percent: their last digit may be another one.
        guard let read, read.name == campaign.name, read.request == campaign.request,
          read.audience == campaign.audience, read.plan.startAt == campaign.plan.startAt,
          read.plan.local == campaign.plan.local
        else { return "a campaign that is another one" }
        guard CampaignKey("\(campaign.key)") == campaign.key else { return "a bad key" }
        guard campaign.plan.startAt >= HostileRecord.now else { return "it started before it was" }
        _ = JSONValue.object(campaign.standing(now: HostileRecord.now, isPaused: true)).text
        guard (try? campaign.checkRequest(reader)) != nil else { return nil }
        let request = campaign.request(tokens: token)
        reader.takesCampaigns = true
        let count = request.withUnsafeBytes { try? reader.read($0).tokens.count }
        return count == 1 ? nil : "a request that was checked cannot be read"
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }
}
