// SPDX-License-Identifier: Apache-2.0
import WebhookDelivery
import Webhooks

extension FuzzTarget {
  /// The file of subscriptions to webhooks: every accepted entry has a name, a URL without a line end, keys and events;
  /// a refusal has words.
  static func subscriptions() -> FuzzTarget {
    FuzzTarget("subscriptions") { bytes in
      do throws(SubscriptionFile.Failure) {
        let found = try SubscriptionFile.parse(Array(bytes), "fuzz", allowsHTTP: false)
        if found.isEmpty { return "accepted without a subscription" }
        if Set(found.map(\.name)).count != found.count { return "the same name twice" }
        for entry in found {
          guard Subscription.isName(entry.name), entry.url.hasPrefix("https://"),
            entry.url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !entry.kinds.isEmpty,
            !entry.sources.isEmpty, (1...5).contains(entry.keys.count),
            entry.keys.allSatisfy({ (24...64).contains($0.count) })
          else { return "an entry that is not whole" }
        }
        return nil
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }
}
